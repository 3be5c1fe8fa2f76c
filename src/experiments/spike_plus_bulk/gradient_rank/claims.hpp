// Claims of the study gradient-rank, judged from the records of its trials.
#pragma once

#include <vector>

#include "experiments/spike_plus_bulk/gradient_rank/config.hpp"
#include "report/result.hpp"
#include "run/trials.hpp"

namespace ranklab {

std::vector<Claim> gradient_rank_claims(const GradientRankConfig& config, LabelModel model,
                                        const std::vector<TrialRecord>& records);

}  // namespace ranklab
