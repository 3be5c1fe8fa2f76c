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

// Numbers of a trial, each behind the prefix of its model -------------------------------------------------------------------

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

// From a trial to the result ------------------------------------------------------------------------------------------------

/// A record for each trial.
Records run_batch(const Plan& plan, const std::vector<Trial>& trials, bool single_precision);

void judge(const Plan& plan, const Records& records, Claims& claims);

Result report(const Plan& plan, const Records& records);

}  // namespace ranklab::lambda_sweep
