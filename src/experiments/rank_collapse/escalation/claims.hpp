// Verdicts of the study escalation.
#pragma once

#include "experiments/rank_collapse/escalation/judges.hpp"

namespace ranklab {

namespace escalation {
/// t_sim above which similarity counts as near its maximum, and a block as late.
inline constexpr double near_maximum = 0.99;

/// First state (0: the input) with t_sim above near_maximum; NaN where there is none.
double first_near_maximum(const TrialRecord& record);

/// Blocks after which t_sim is smaller than before, rounding noise left out.
double decreases(const Evidence& run, const TrialRecord& record);

/// Geometric mean over late blocks of the diversity after over that before: of step 1, and of the whole block. NaN without
/// late blocks.
double late_ratio_of_step_1(const Evidence& run, const TrialRecord& record);
double late_ratio_of_block(const Evidence& run, const TrialRecord& record);
}  // namespace escalation

std::vector<Claim> escalation_claims(const escalation::Evidence& run);

}  // namespace ranklab
