// Verdicts of the study escalation-rate.
#pragma once

#include "experiments/rank_collapse/escalation/judges.hpp"

namespace ranklab {

namespace escalation {
/// E[xi_1]/E[xi_2] - 1 at block k by eq. (9) and (29), from the path's mu_1 and mu_2.
double expected_excess_at(const Evidence& run, const TrialRecord& record, std::size_t k);

/// xi_1/xi_2 - 1 without its parts linear in xi_1 and xi_2 less their expectations (9): the same mean over W, with far less
/// spread, as what is left is of second order (control variates).
double sharpened_excess(const Evidence& run, const TrialRecord& record, std::size_t k);
}  // namespace escalation

std::vector<Claim> escalation_rate_claims(const escalation::Evidence& run);

}  // namespace ranklab
