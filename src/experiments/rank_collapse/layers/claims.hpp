// What [LambdaSkip] Figure 1 and [Shallow] Figures 1, 4 and 5 say, judged from the curves of `--study layers`.
#pragma once

#include <vector>

#include "experiments/rank_collapse/layers/config.hpp"

namespace ranklab {

std::vector<Claim> layers_claims(const LayersConfig& config, const std::vector<TrialRecord>& records);

}  // namespace ranklab
