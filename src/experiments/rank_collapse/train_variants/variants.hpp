// Training post-norm, pre-norm and de-escalated models: [Shallow] Figures 6 and 7, and the
// gradients of Figure 1.
#pragma once

#include "experiments/rank_collapse/train/purpose.hpp"

namespace ranklab::train {

const Purpose& comparison_of_variants();

/// Claims of [Shallow] about the variants (claims.cpp).
void judge_variants(const Plan& plan, const Task& task, const Records& records, Claims& claims);
/// Losses; tokens and gradients are further figures (figure.cpp).
void draw_variants(ResultBuilder& out, const Plan& plan, const Task& task);

}  // namespace ranklab::train
