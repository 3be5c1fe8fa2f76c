// The result of `rank-collapse --study layers` from its trials.
#pragma once

#include <vector>

#include "experiments/rank_collapse/layers/config.hpp"

namespace ranklab {

Result layers_result(const LayersConfig& config, const std::vector<TrialRecord>& records);

}  // namespace ranklab
