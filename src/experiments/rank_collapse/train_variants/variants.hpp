// Training post-norm, pre-norm and de-escalated models: [Shallow] Figures 6 and 7, and the
// gradients of Figure 1.
#pragma once

#include "experiments/rank_collapse/train/purpose.hpp"

namespace ranklab::train {

const Purpose& comparison_of_variants();

/// ||A||_F / ||X||_F of `curve` divided by that of `other`, the geometric mean over the blocks from
/// the second on, at a moment ("start."). At the first block, all variants have the same input.
double attention_share(const TrialRecord& record, const Curve& curve, const Curve& other,
                       const std::string& moment);

/// Claims of [Shallow] about the variants (claims.cpp).
void judge_variants(const Plan& plan, const Task& task, const Records& records, Claims& claims);
/// Losses; tokens and gradients are further figures (figure.cpp).
void draw_variants(ResultBuilder& out, const Plan& plan, const Task& task);

}  // namespace ranklab::train
