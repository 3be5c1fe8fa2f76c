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

/// Of a settled config.
Plan plan_of(const LambdaSweepConfig& config);

// Numbers of a trial, each behind the prefix of its model -------------------------------------------------------------------

/// Over the ascending lambda: a measure at the last layer, and the smallest over the layers 1 to K.
inline constexpr const char* swept_measures[] = {measure::mu_normalized, measure::rank_one_residual, measure::cosine_similarity};
inline std::string at_last_layer(const std::string& measure) {
  return "final." + measure;
}
inline std::string least_over_layers(const std::string& measure) {
  return "least." + measure;
}

/// The smallest strength from which on every larger one keeps the tokens apart; NaN where not even the largest does.
struct Sign {
  int of_lambda;
  const char* smallest_lambda;
  const char* orders_of_magnitude;  // by which Theorem 4.1 asks for more, a scalar of the result
};
inline constexpr Sign signs[] = {{1, "smallest_lambda_positive", "orders_of_magnitude_positive"},
                                 {-1, "smallest_lambda_negative", "orders_of_magnitude_negative"}};

/// Of a bare stack with the norm `rows` (see SkipTheorem): the norms that Theorem 4.1 speaks of, the rate a at which mu ends at the
/// threshold, and the strengths that its condition and its hypothesis then ask for.
inline constexpr char theorem_S[] = "S", theorem_C_M[] = "C_M", theorem_rate[] = "theorem_rate",
                      theorem_condition[] = "theorem_condition", theorem_lambda[] = "theorem_lambda";

/// Curves of the grid that left the range of the numbers; `degenerate_rows` is summed over the grid.
inline constexpr char diverged_curves[] = "diverged";

// From a trial to the result ------------------------------------------------------------------------------------------------

/// A record for each trial.
Records run_batch(const Plan& plan, const std::vector<Trial>& trials, bool single_precision);

/// Whether the run has the numbers of Theorem 4.1 for the model.
bool has_theorem(const StackedModel& model, const Records& records);
/// log10 of the theorem's strength over the smallest of one sign; NaN where there is none, or where it is 0.
std::vector<double> orders_of_magnitude(const StackedModel& model, const Sign& sign, const Records& records);

void judge(const Plan& plan, const Records& records, Claims& claims);

Result report(const Plan& plan, const Records& records);

}  // namespace ranklab::lambda_sweep
