// The Mamba-2 block ([LambdaSkip] Section 5; Dao and Gu, 2024), and the ways in which its gate and its norms may be removed.
//
//   the block   R <- lambda R + Mixer(RMSNorm(R))
//   the mixer   [z; x; B; C; dt] = W_in' u                             d_i = 2 d, g n, g n and h rows after z's d_i
//               [x; B; C] <- silu(causal convolution with 4 taps),     dt <- softplus(dt + dt_bias)
//               y_k = SSD(A_k dt_k, B_j, C_j, dt_k x_k) + D_k x_k      head k: channels k d_i/h ... (k+1) d_i/h - 1 of x
//               output W_out' RMSNorm(y o silu(z)),                    A = -exp(A_log)
//
// Heads come in g groups (published: 1) that share B and C: head k is in group j = floor(k g/h), which owns rows j n ...
// (j+1) n - 1 of B and of C. The mixer's RMSNorm takes its mean over each group's d_i/g channels, as the authors' code does.
//
// [LambdaSkip] leaves open what its ablations are. The spec says which reading is meant:
//   gating off        y takes the place of y o silu(z); z is not computed
//   skip_at mixer     the mixer's y becomes y + lambda x, x after its convolution, and the block's skip is 1
//   skip_input normed the block's skip is lambda RMSNorm(R)
//   norm none         norm_off says which RMSNorm is the identity: the block's, the mixer's (inner) or both
// D, itself a skip, stays in all of them.
//
// Tensors, as published checkpoints name and store them: `norm.weight`, `mixer.in_proj.weight`, `mixer.conv1d.weight`
// (taps, channels) and `.bias`, `mixer.dt_bias`, `mixer.A_log`, `mixer.D`, `mixer.norm.weight`, `mixer.out_proj.weight`.
#pragma once

#include "models/blocks/block.hpp"

namespace ranklab {

template <class T>
std::unique_ptr<Block<T>> make_mamba2_block(const ModelSpec& spec, Tensors<T>& tensors);

}  // namespace ranklab
