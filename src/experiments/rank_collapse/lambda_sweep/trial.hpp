// The trials of `rank-collapse --study lambda-sweep`.
#pragma once

#include "experiments/rank_collapse/lambda_sweep/config.hpp"

namespace ranklab {

/// A record for each trial. For each swept model, with its prefix: arrays over the ascending lambda `final.<measure>` (last layer)
/// and `least.<measure>` (smallest over the layers 1 to K); scalars `smallest_lambda_positive` and `_negative`; for a bare stack
/// with the norm `rows` also `S`, `C_M`, `theorem_rate`, `theorem_condition`, `theorem_lambda` (see SkipTheorem).
template <class T>
std::vector<TrialRecord> lambda_sweep_trials(const LambdaSweepConfig& config, const std::vector<Trial>& trials);

}  // namespace ranklab
