// Scalars, series and figure of the study gradient-rank, from the records of its trials.
#pragma once

#include <vector>

#include "experiments/spike_plus_bulk/gradient_rank/config.hpp"
#include "report/result.hpp"
#include "run/trials.hpp"

namespace ranklab {

Result gradient_rank_result(const GradientRankConfig& config, LabelModel model, const std::vector<TrialRecord>& records);

}  // namespace ranklab
