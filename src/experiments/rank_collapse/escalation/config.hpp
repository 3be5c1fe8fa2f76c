// `rank-collapse --study escalation`: token similarity over post-norm Transformer blocks, and the
// effect of each of the four steps of a block ([Shallow] Figure 2).
#pragma once

#include <memory>

#include "experiments/rank_collapse/token_escalation/token_escalation.hpp"

namespace ranklab {

std::unique_ptr<Study> make_escalation_study();

}  // namespace ranklab
