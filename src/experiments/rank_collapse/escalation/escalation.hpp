// The study escalation inside: what a trial records, and the way from records to the result.
#pragma once

#include <array>

#include "experiments/rank_collapse/token_escalation/token_escalation.hpp"
#include "run/trials.hpp"

namespace ranklab::escalation {

using namespace token_escalation;

// Arrays over blocks, beside what every path records: xi_1/xi_2 of the steps of Algorithm 1, `rate` of step 1, and the diversity
// after the block over that before.
inline constexpr std::array xi_ratios = {"step1.xi_ratio", "step2.xi_ratio", "step3.xi_ratio", "step4.xi_ratio"};
inline constexpr char diversity_ratio[] = "diversity_ratio";

/// t_sim above which similarity counts as near its maximum, and a block that begins with it as late.
inline constexpr double near_maximum = 0.99;

// Numbers of a trial, by the names of their scalars.
inline constexpr char final_similarity[] = "final_token_similarity";
inline constexpr char first_near_maximum[] = "first_state_above_0.99";  // 0: the input; NaN where there is none
inline constexpr char decreases[] = "decreases";  // blocks after which t_sim is smaller than before, rounding noise left out
// Geometric means over late blocks of the diversity after over that before, of the block and of step 1; NaN without late blocks.
inline constexpr char late_ratio[] = "late_diversity_ratio", late_ratio_of_step_1[] = "step1.late_diversity_ratio";

/// The numbers, from the arrays.
void add_numbers(const Plan& plan, TrialRecord& record);

/// A path through fresh blocks: the arrays and the numbers, with a case of eq. (6) for every step.
TrialRecord run_trial(const Plan& plan, const Trial& trial);

Result report(const Plan& plan, const Records& records);

}  // namespace ranklab::escalation
