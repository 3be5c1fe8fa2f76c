// One trial of the study escalation: a path through fresh blocks, measured at every step.
#pragma once

#include <string>

#include "experiments/rank_collapse/escalation/config.hpp"
#include "run/trials.hpp"

namespace ranklab {

namespace escalation {
/// Steps of Algorithm 1.
inline constexpr int steps = 4;
/// Name of step s's ratio xi_1/xi_2, s from 1: "step1.xi_ratio".
std::string xi_ratio_of(int step);
}  // namespace escalation

/// Records arrays over states 0 ... K (`token_similarity`, `token_diversity`), over blocks (`step<s>.xi_ratio`, `rate` of step
/// 1, `diversity_ratio` of the block, `delta`, `omega`, `mu_1`, `mu_2` squared with their bounds `mu_1_bound`, `mu_2_bound`,
/// all averaged over heads), and over blocks and steps (`identity_error` of eq. (6)); the scalars `diverged` and
/// `degenerate_rows`. What comes after a divergence is NaN.
template <class T>
TrialRecord escalation_trial(const EscalationConfig& config, const Trial& trial);

}  // namespace ranklab
