// What [LambdaSkip] Figures 3 and 4 say, judged from the curves of `--study ablation`.
#pragma once

#include <vector>

#include "experiments/rank_collapse/ablation/config.hpp"

namespace ranklab {

std::vector<Claim> ablation_claims(const AblationConfig& config, const std::vector<TrialRecord>& records);

}  // namespace ranklab
