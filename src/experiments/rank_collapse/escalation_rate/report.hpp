// The result of the study escalation-rate from its records.
#pragma once

#include "experiments/rank_collapse/escalation/config.hpp"

namespace ranklab {

Result escalation_rate_result(const EscalationConfig& config, bool single_precision, const std::vector<TrialRecord>& records);

}  // namespace ranklab
