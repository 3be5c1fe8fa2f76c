// The result of the study escalation from its records.
#pragma once

#include "experiments/rank_collapse/escalation/config.hpp"

namespace ranklab {

Result escalation_result(const EscalationConfig& config, bool single_precision, const std::vector<TrialRecord>& records);

}  // namespace ranklab
