// Scalars, series, claims, figure and notes of the study mlp, from the records of its trials.
#pragma once

#include <vector>

#include "experiments/one_step_compare/mlp/config.hpp"
#include "report/result.hpp"
#include "run/trials.hpp"

namespace ranklab {

Result mlp_result(const MlpConfig& config, const std::vector<TrialRecord>& records);

}  // namespace ranklab
