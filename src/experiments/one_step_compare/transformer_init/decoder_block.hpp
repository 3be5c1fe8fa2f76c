// The single-head decoder block of [Spectral] Section 2.2.2 (Figure 13), without mask and position
// encoding.
//   A_rms = RMSNorm(X),  Q = W_Q A_rms,  K = W_K A_rms,  V = W_V A_rms,
//   P = softmax(d^(-1/2) K' Q),  H = V P,  X_att = X + W_O H,
//   A_mlp_rms = RMSNorm(X_att),  B = relu(W_1 A_mlp_rms),  X_plus = X_att + W_2 B
//
// Shapes: columns are tokens; X, A_rms, Q, K, V, H, X_att, A_mlp_rms, X_plus (d, n); P (n, n),
// columns that sum to one; W_Q, W_K, W_V, W_O (d, d); W_1 (k, d); W_2 (d, k); B (k, n). RMSNorm(x)
// = sqrt(d) x / ||x||: gain 1, no epsilon.
#pragma once

#include <armadillo>
#include <cstdint>

#include "run/trials.hpp"

namespace ranklab::transformer_init {

struct DecoderWeights {
  arma::mat W_Q, W_K, W_V, W_O, W_1, W_2;
};

/// [Spectral] Assumption A: independent N(0, 1 / columns) entries, from the trial's streams
/// `block<number>.W_Q` and so on.
DecoderWeights draw_decoder_weights(const Trial& trial, std::uint64_t number, std::uint64_t d,
                                    std::uint64_t k);

struct DecoderStates {
  arma::mat A_rms, H, X_att, A_mlp_rms, B, X_plus;
};

/// The states of the block for the input X. A zero column becomes NaN, since its RMSNorm is
/// undefined.
DecoderStates decoder_block(const DecoderWeights& weights, const arma::mat& X);

}  // namespace ranklab::transformer_init
