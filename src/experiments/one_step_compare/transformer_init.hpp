// For the tests of the study transformer-init: the decoder block, and the bounds of [Spectral]
// Section 2.2 with the printed constants.
#pragma once

#include <armadillo>
#include <cstdint>
#include <vector>

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

/// Lemma 2.12 for ReLU: c_sigma = (1 - Phi(1)) / 2.
double relu_small_ball();

/// c_- d <= ||x_t||^2 <= c_+ d for every column x_t.
struct ColumnRange {
  double low = 0.0, high = 0.0;  // c_-, c_+
};

/// The ranges of the columns of X_att by (E.7), and of X_plus by Proposition 2.14 (i), from the
/// range of the block's input.
ColumnRange attention_columns(const ColumnRange& input, double delta);
ColumnRange output_columns(const ColumnRange& input, double delta);

/// Proposition 2.14 (ii), for a block whose input has stable rank `stable_rank_X`. The bound on
/// X_plus follows from (E.11) and the middle of (E.13).
struct BlockBounds {
  double A_rms, X_att, A_mlp_rms, B, X_plus;
};
BlockBounds block_bounds(const ColumnRange& input, double stable_rank_X, double delta);

/// ||M||_F^2 and ||M||_op^2.
struct SquaredNorms {
  double frobenius = 0.0, op = 0.0;

  double stable_rank() const { return frobenius / op; }
};

/// Lemma 2.13, eq. (2.17): bound on st(X + W H) for W (d, k) with entries N(0, 1/k); `d_over_k` is
/// d / k.
double residual_bound(const SquaredNorms& X, const SquaredNorms& H, double d_over_k, double delta);

/// Corollary 2.15 with the constants of its proof (Appendix F), delta = 1 / (8 L), from an
/// embedding whose columns have squared norms in [1 - eps, 1 + eps] d. Entry l bounds block l of
/// the paper, l = 0 ... L - 1; `final_rms` bounds RMSNorm(X^(L)).
struct DepthBounds {
  std::vector<double> X, A_rms, A_mlp_rms;
  double final_rms = 0.0;
};
DepthBounds depth_bounds(std::uint64_t layers, double eps, double one_over_p_max);

}  // namespace ranklab::transformer_init
