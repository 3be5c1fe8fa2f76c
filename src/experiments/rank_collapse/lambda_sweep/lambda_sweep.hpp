// Internal header of the study lambda-sweep: what a trial records for each model, and the functions
// that turn records into the result.
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
  bool single_precision = false;
};

// Numbers of a trial, each named after the prefix of its model ------------------------------------

/// Prefixes of arrays over the ascending lambda, followed by the name of a measure: its value at
/// the last layer, and its smallest value over the layers 1 to K.
inline constexpr char at_last_layer[] = "final.", least_over_layers[] = "least.";
inline constexpr const char* swept_measures[] = {measure::mu_normalized, measure::rank_one_residual,
                                                 measure::cosine_similarity};

struct Sign {
  int of_lambda;
  // The smallest strength such that it and all larger ones keep the tokens apart; NaN if the
  // largest one does not.
  const char* smallest_lambda;
  // log10 of the strength that Theorem 4.1 requires over the smallest one; NaN if the smallest one
  // is 0 or NaN.
  const char* orders_of_magnitude;
};
inline constexpr Sign signs[] = {{1, "smallest_lambda_positive", "orders_of_magnitude_positive"},
                                 {-1, "smallest_lambda_negative", "orders_of_magnitude_negative"}};

/// Only for a bare stack with the norm `rows`: the norms in Theorem 4.1 (see SkipTheorem), the rate
/// a for which the theorem guarantees the threshold at the last layer, and the strengths that its
/// condition and its hypothesis require at this rate.
inline constexpr char theorem_S[] = "S", theorem_C_M[] = "C_M", theorem_rate[] = "theorem_rate",
                      theorem_condition[] = "theorem_condition",
                      theorem_lambda[] = "theorem_lambda";

// Over the grids of all models: `degenerate_rows`, and the number of curves that overflowed.
inline constexpr char diverged[] = "diverged";

// The strength that keeps the tokens apart: measured on a grid, and required by [LambdaSkip]
// Theorem 4.1 (trial.cpp) -------------------------------------------------------------------------

/// The smallest strength such that it and all larger ones keep the tokens apart lies in (fails,
/// keeps], for one sign. keeps is NaN if the largest strength of the grid does not keep them apart;
/// fails is NaN if all strengths do.
struct SkipBracket {
  double fails, keeps;
};

/// `lambda` is ascending, and `kept` says for each lambda whether the tokens are kept apart. `sign`
/// is +1 or -1. Strengths are absolute values; 0 counts for both signs.
SkipBracket skip_bracket(const std::vector<double>& lambda, const std::vector<bool>& kept,
                         int sign);

/// Evenly spaced strengths inside the bracket, ascending; none if an end is undefined.
std::vector<double> points_inside(const SkipBracket& bracket, std::size_t points);

/// The constants of Theorem 4.1 on a run: S = sup ||C_V||_F, C_M = sup ||M||_F.
struct SkipTheorem {
  double S = 0, C_M = 0;
  double tokens = 0, dim = 0, layers = 0;
  double mu_squared = 0;  // mu(Y^(0))^2

  /// The collapse rate a for which a^K mu(Y^(0))^2 = `least`, the required lower bound on
  /// mu(Y^(K))^2; NaN outside (0, 1).
  double collapse_rate(double least) const;
  /// Eq. (7): abs(lambda) > (a + sqrt a) S C_M / (1 - a).
  double condition_threshold(double a) const;
  /// The smallest abs(lambda) that meets (7) and mu(Y^(0))^2 >= b = a^-K 2 abs(lambda) N d S C_M /
  /// (lambda^2 - a (S C_M + abs(lambda))^2).
  double hypothesis_threshold(double a) const;
};

// From a trial to the result ----------------------------------------------------------------------

/// Returns one record for each trial.
Records run_batch(const Plan& plan, const std::vector<Trial>& trials);

void judge(const Plan& plan, const Records& records, Claims& claims);

}  // namespace ranklab::lambda_sweep
