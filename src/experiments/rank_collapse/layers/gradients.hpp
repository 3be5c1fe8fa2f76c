// Gradients in the weights of each block of an encoder ([Shallow] Section 1.1, Figure 1), one block's weights at a time.
//
//   loss = (1/n) sum_t -log softmax(E' H_t)[target_t],  H = X_L, or M X_L where E is narrower than d; M: `embedding_map.weight`
//   g_l  = || dloss / d(all weights of block l) ||_F,   l = 1 ... L: maps, biases, gains
// E (width, V): the model's own table of tokens; targets uniform over its V ids, from the stream `targets`. X_l (d, n), one token
// per column. Blocks that share their weights are told apart: g_l is of block l's part of the gradient, their sum.
// Differs from [Shallow]: it states neither loss nor tokens nor dropout. There is no dropout here.
#pragma once

#include <string>
#include <vector>

#include "experiments/rank_collapse/depth/depth.hpp"

namespace ranklab::layers {

/// "<model>.gradient_norm": g_l, in the record; NaN for all blocks where a state is not finite.
std::string gradient_norms_of(const ModelSpec& spec);

/// max_l g_l / min_l g_l of each trial; NaN where a gradient is.
std::vector<double> gradient_ratios(const ModelSpec& spec, const Records& records);

/// Refuses groups other than encoders (norm layer, mlp on) on tokens with one curve, that of lambda = 1 without tau. Throws
/// UsageError that names --gradients.
void require_encoders(const std::vector<DepthGroup>& groups);

/// The record of run_groups in one trial, and the gradient norms of each group.
TrialRecord run_with_gradients(const std::vector<DepthGroup>& groups, const Trial& trial, bool single_precision);

/// depth_cost, and that of the gradients. Every trial reads published weights for itself.
Estimate cost_with_gradients(const std::vector<DepthGroup>& groups);

}  // namespace ranklab::layers
