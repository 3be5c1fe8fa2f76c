// Internal header of the study escalation-rate: what a trial records, and the functions that turn
// records into the result.
#pragma once

#include "experiments/rank_collapse/token_escalation/token_escalation.hpp"
#include "run/trials.hpp"

namespace ranklab::escalation_rate {

using namespace token_escalation;

// Arrays over blocks, in addition to those of every path. The first group belongs to the path and
// is the same in every trial: means over heads of |lambda_2(P)| and of the estimates (16) and (17)
// of E[xi_1]/E[xi_2] - 1, and the largest omega + delta and ||P - P'||_F/||P||_F of a head.
inline constexpr char lambda_2[] = "lambda_2", estimate_1[] = "estimate_1",
                      estimate_2[] = "estimate_2";
inline constexpr char largest_sum[] = "omega_plus_delta", largest_asymmetry[] = "asymmetry";
// Step 1 with the W of the trial, in addition to its `rate`.
inline constexpr char xi_1[] = "xi_1", xi_2[] = "xi_2", excess[] = "xi_ratio_minus_1";
// Derived from those: the excess minus its first-order terms in xi_i - E[xi_i], with E[xi_i] from
// eq. (9) as control variates; it has the same mean over W but far less spread, because only
// second-order terms remain. Then the rates that the estimates predict.
inline constexpr char sharpened_excess[] = "xi_ratio_minus_1_sharpened";
inline constexpr char rate_1[] = "rate_estimate_1", rate_2[] = "rate_estimate_2";

/// The value of an array at block k, from 0.
inline double at(const TrialRecord& record, const char* name, std::size_t k) {
  return record.array(name)[k];
}

/// Computes the derived arrays.
void add_derived(const Plan& plan, TrialRecord& record);

/// Follows the path through the blocks of trial 0. Each trial redraws the W of every step 1 on it
/// and counts a case of eq. (6) for each.
Work work_of(const Plan& plan);

void judge(const Plan& plan, const Records& records, Claims& claims);

Result report(const Plan& plan, const Records& records);

}  // namespace ranklab::escalation_rate
