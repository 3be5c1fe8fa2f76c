// The result of `rank-collapse --study lambda-sweep` from its trials.
#pragma once

#include <vector>

#include "experiments/rank_collapse/lambda_sweep/config.hpp"

namespace ranklab {

Result lambda_sweep_result(const LambdaSweepConfig& config, const std::vector<TrialRecord>& records);

}  // namespace ranklab
