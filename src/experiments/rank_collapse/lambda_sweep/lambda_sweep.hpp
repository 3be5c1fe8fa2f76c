// The study lambda-sweep inside: what a trial records of each model, and the way from the records to the result.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/rank_collapse/depth/depth.hpp"
#include "experiments/rank_collapse/lambda_sweep/config.hpp"
#include "experiments/rank_collapse/model_fields.hpp"

namespace ranklab::lambda_sweep {

struct Plan {
  std::vector<StackedModel> models;
  std::vector<double> lambda;  // ascending
  double threshold;
  std::uint64_t refine;
};

// Numbers of a trial, each behind the prefix of its model --------------------------------------------------------------------

/// Arrays over the ascending lambda, each before the name of a measure: at the last layer, and the smallest over the layers 1 to K.
inline constexpr char at_last_layer[] = "final.", least_over_layers[] = "least.";
inline constexpr const char* swept_measures[] = {measure::mu_normalized, measure::rank_one_residual, measure::cosine_similarity};

struct Sign {
  int of_lambda;
  const char* smallest_lambda;      // from which on every larger one keeps the tokens apart; NaN where not even the largest does
  const char* orders_of_magnitude;  // by which Theorem 4.1 asks for more; NaN where nothing is asked for
};
inline constexpr Sign signs[] = {{1, "smallest_lambda_positive", "orders_of_magnitude_positive"},
                                 {-1, "smallest_lambda_negative", "orders_of_magnitude_negative"}};

/// Of a bare stack with the norm `rows` alone: the norms that Theorem 4.1 speaks of (see SkipTheorem), the rate a at which mu ends
/// at the threshold, and the strengths that its condition and its hypothesis then ask for.
inline constexpr char theorem_S[] = "S", theorem_C_M[] = "C_M", theorem_rate[] = "theorem_rate",
                      theorem_condition[] = "theorem_condition", theorem_lambda[] = "theorem_lambda";

// Over the grids of all models: `degenerate_rows`, and the curves that left the range of the numbers.
inline constexpr char diverged[] = "diverged";

// How strong a skip must be: measured on a grid of strengths, and what [LambdaSkip] Theorem 4.1 asks for (trial.cpp) ---------

/// Where the grid stands for one sign: the strength from which on every larger one keeps the tokens apart lies in
/// (fails, keeps]. keeps is NaN where not even the largest does; fails is NaN where all do, 0 included.
struct SkipBracket {
  double fails, keeps;
};

/// `lambda` ascending, `kept` likewise; `sign` +1 or -1. Strengths are absolute values; 0 counts for both signs.
SkipBracket skip_bracket(const std::vector<double>& lambda, const std::vector<bool>& kept, int sign);

/// Strengths inside the bracket, evenly spaced, ascending; none where an end is undefined.
std::vector<double> inside(const SkipBracket& bracket, std::size_t points);

/// What Theorem 4.1's constants are on a run: S = sup ||C_V||_F, C_M = sup ||M||_F.
struct SkipTheorem {
  double S = 0, C_M = 0;
  double tokens = 0, dim = 0, layers = 0;
  double mu_squared = 0;  // mu(Y^(0))^2

  /// The collapse rate a at which a^K mu(Y^(0))^2 = `least`, the smallest mu(Y^(K))^2 that is still wanted; NaN outside (0, 1).
  double collapse_rate(double least) const;
  /// Eq. (7): abs(lambda) > (a + sqrt a) S C_M / (1 - a).
  double condition_threshold(double a) const;
  /// The smallest abs(lambda) that meets (7) and mu(Y^(0))^2 >= b = a^-K 2 abs(lambda) N d S C_M / (lambda^2 - a (S C_M +
  /// abs(lambda))^2).
  double hypothesis_threshold(double a) const;
};

// From a trial to the result -------------------------------------------------------------------------------------------------

/// A record for each trial.
Records run_batch(const Plan& plan, const std::vector<Trial>& trials, bool single_precision);

void judge(const Plan& plan, const Records& records, Claims& claims);

}  // namespace ranklab::lambda_sweep
