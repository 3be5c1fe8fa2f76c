// Internal header of the study escalation: what a trial records, and the functions that turn
// records into the result.
#pragma once

#include <array>

#include "experiments/rank_collapse/token_escalation/token_escalation.hpp"
#include "run/trials.hpp"

namespace ranklab::escalation {

using namespace token_escalation;

// Arrays over blocks, in addition to those of every path: xi_1/xi_2 of the steps of Algorithm 1,
// `rate` of step 1, and the diversity after the block divided by the diversity before it.
inline constexpr std::array xi_ratios = {"step1.xi_ratio", "step2.xi_ratio", "step3.xi_ratio",
                                         "step4.xi_ratio"};
inline constexpr char diversity_ratio[] = "diversity_ratio";

/// Similarity above this counts as near its maximum. A block whose input exceeds it is late.
inline constexpr double near_maximum = 0.99;

// Numbers of a trial, by the names of their scalars.
inline constexpr char final_similarity[] = "final_token_similarity";
// The first state near the maximum; 0: the input; NaN if no state is near the maximum.
inline constexpr char first_near_maximum[] = "first_state_above_0.99";
// The number of blocks that decrease t_sim, without those that are rounding noise.
inline constexpr char decreases[] = "decreases";
// Geometric means over late blocks of the diversity after divided by the diversity before, for the
// whole block and for step 1; NaN if there is no late block.
inline constexpr char late_ratio[] = "late_diversity_ratio",
                      late_ratio_of_step_1[] = "step1.late_diversity_ratio";

/// Computes the numbers from the arrays.
void add_numbers(const Plan& plan, TrialRecord& record);

/// Follows a path through fresh blocks and records the arrays and the numbers. Counts one case of
/// eq. (6) for every step.
TrialRecord run_trial(const Plan& plan, const Trial& trial);

Result report(const Plan& plan, const Records& records);

}  // namespace ranklab::escalation
