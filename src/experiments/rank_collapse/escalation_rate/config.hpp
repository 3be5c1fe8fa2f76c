// `rank-collapse --study escalation-rate`: the escalation rate of step 1 over redraws of only its
// W, compared with its expectation and with the estimates from the attention matrices ([Shallow]
// Figure 3).
//
// The path through the blocks is that of trial 0 of `escalation`, and it is the same in every
// trial. A trial redraws the W of every block and measures step 1 of each block on the path.
#pragma once

#include <memory>

#include "experiments/rank_collapse/token_escalation/token_escalation.hpp"

namespace ranklab {

std::unique_ptr<Study> make_escalation_rate_study();

}  // namespace ranklab
