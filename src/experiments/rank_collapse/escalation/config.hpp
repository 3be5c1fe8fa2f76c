// `rank-collapse --study escalation`: token similarity along post-norm Transformer blocks, and what each of a block's four
// steps does to it ([Shallow] Figure 2).
#pragma once

#include <memory>

#include "experiments/rank_collapse/token_escalation/token_escalation.hpp"

namespace ranklab {

std::unique_ptr<Study> make_escalation_study();

}  // namespace ranklab
