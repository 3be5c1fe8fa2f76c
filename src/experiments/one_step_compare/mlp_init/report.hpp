// Scalars, series, claims and figure of the study mlp-init, from the records of its trials.
#pragma once

#include <vector>

#include "experiments/one_step_compare/mlp_init/config.hpp"
#include "report/result.hpp"
#include "run/trials.hpp"

namespace ranklab {

/// Each record holds the arrays <prefix>layer<l>.stable_rank and X.stable_rank over ascending_n(config).
Result mlp_init_result(const MlpInitConfig& config, const std::vector<TrialRecord>& records);

}  // namespace ranklab
