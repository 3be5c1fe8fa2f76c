// The study escalation-rate inside: what a trial records, and the way from records to the result.
#pragma once

#include "experiments/rank_collapse/token_escalation/token_escalation.hpp"
#include "run/trials.hpp"

namespace ranklab::escalation_rate {

using namespace token_escalation;

// Arrays over blocks, beside what every path records. Of the path, the same in every trial: means over heads of |lambda_2(P)| and
// of the estimates (16) and (17) of E[xi_1]/E[xi_2] - 1, and the largest omega + delta and ||P - P'||_F/||P||_F of a head.
inline constexpr char lambda_2[] = "lambda_2", estimate_1[] = "estimate_1", estimate_2[] = "estimate_2";
inline constexpr char largest_sum[] = "omega_plus_delta", largest_asymmetry[] = "asymmetry";
// Of step 1 with the trial's own W, besides its `rate`.
inline constexpr char xi_1[] = "xi_1", xi_2[] = "xi_2", excess[] = "xi_ratio_minus_1";
// From those: the excess without its parts linear in xi_1 and xi_2 less their expectations (9), which has the same mean over W
// with far less spread, as what is left is of second order (control variates); and the rates that the estimates predict.
inline constexpr char sharpened_excess[] = "xi_ratio_minus_1_sharpened";
inline constexpr char rate_1[] = "rate_estimate_1", rate_2[] = "rate_estimate_2";

/// One array at block k, from 0.
inline double at(const TrialRecord& record, const char* name, std::size_t k) {
  return record.array(name)[k];
}

/// [Shallow] eq. (18), which with one head is eq. (13); a case is a block of a trial.
Inequality expected_rate(const Plan& plan);

/// The last arrays and the cases of expected_rate, from the other arrays.
void add_derived(const Plan& plan, TrialRecord& record);

/// The path through the blocks of trial 0, and a redraw of every step 1 along it in each trial, with a case of eq. (6) for each.
Records run_trials(const Plan& plan, Runner& runner);

void judge(const Plan& plan, const Records& records, Claims& claims);

Result report(const Plan& plan, const Records& records);

}  // namespace ranklab::escalation_rate
