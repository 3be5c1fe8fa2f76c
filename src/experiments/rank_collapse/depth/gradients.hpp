// Gradients with respect to the weights of each block of an encoder ([Shallow] Section 1.1, Figure
// 1). Only one block's weights are in memory at a time.
//
//   loss = (1/n) sum_t -log softmax(E' H_t)[target_t]
//   g_l  = || dloss / d(all weights of block l) ||_F,   l = 1 ... L: maps, biases, gains
//
// H = X_L, or M X_L with M = `embedding_map.weight` if E is narrower than d.
// E (width, V) is the token table of the model. The targets are uniform over its V ids, from the
// stream `targets`. X_l (d, n) has one token per column. If blocks share their weights, the
// gradient is the sum of one part per block, and g_l is the norm of the part of block l.
// Differs from [Shallow]: it states neither loss nor tokens nor dropout, so the loss and the
// targets are our choice, without dropout.
#pragma once

#include <string>
#include <vector>

#include "experiments/rank_collapse/depth/depth.hpp"

namespace ranklab {

/// The name of the array g_l in a record, "<model>.gradient_norm". All its values are NaN if a
/// state is not finite.
std::string gradient_norms_of(const ModelSpec& spec);

/// Returns the records of run_groups, plus the gradient norms of each group. The groups are
/// encoders (norm layer, mlp on) on tokens whose only curve without dropout is the first, with
/// lambda = 1 and no tau.
Records run_with_gradients(const std::vector<DepthGroup>& groups, const std::vector<Trial>& trials,
                           bool single_precision);

/// depth_cost plus the memory of the gradients. Every trial reads published weights itself.
Estimate cost_with_gradients(const std::vector<DepthGroup>& groups);

}  // namespace ranklab
