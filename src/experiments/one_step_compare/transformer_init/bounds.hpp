// The bounds of [Spectral] Section 2.2 on stable ranks and column norms inside a decoder block, with the constants as printed.
#pragma once

#include <cstdint>
#include <vector>

namespace ranklab {

/// Lemma 2.12 for ReLU: c_sigma = (1 - Phi(1)) / 2.
double relu_small_ball();

/// c_- d <= ||x_t||^2 <= c_+ d for every column x_t.
struct ColumnRange {
  double low = 0.0, high = 0.0;  // c_-, c_+
};

/// (E.7): the columns of X_att, and Proposition 2.14 (i): those of X_plus, from those of the block's input.
ColumnRange attention_columns(const ColumnRange& input, double delta);
ColumnRange output_columns(const ColumnRange& input, double delta);

/// Proposition 2.14 (ii), for a block whose input has stable rank `stable_rank_X`. The bound on X_plus follows from (E.11) and the
/// middle of (E.13); the last step of (E.14) as printed would lose a factor of up to 2 (1 - delta).
struct BlockBounds {
  double A_rms, X_att, A_mlp_rms, B, X_plus;
};
BlockBounds block_bounds(const ColumnRange& input, double stable_rank_X, double delta);

/// ||M||_F^2 and ||M||_op^2.
struct SquaredNorms {
  double frobenius = 0.0, op = 0.0;

  double stable_rank() const { return frobenius / op; }
};

/// Lemma 2.13, eq. (2.17): st(X + W H) for W (d, k) with entries N(0, 1/k); `d_over_k` is d / k.
double residual_bound(const SquaredNorms& X, const SquaredNorms& H, double d_over_k, double delta);

/// Corollary 2.15 with the constants of its proof (Appendix F), delta = 1 / (8 L), from an embedding with columns in
/// [1 - eps, 1 + eps] d. Entry l is about block l of the paper, l = 0 ... L - 1; `final_rms` about RMSNorm(X^(L)).
struct DepthBounds {
  std::vector<double> X, A_rms, A_mlp_rms;
  double final_rms = 0.0;
};
DepthBounds depth_bounds(std::uint64_t layers, double eps, double inverse_p_max);

}  // namespace ranklab
