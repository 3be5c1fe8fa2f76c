// Attention without a skip ([LambdaSkip] Theorems A.2 and A.3), with the mean token stored
// separately from the differences between tokens.
//
// mu falls doubly exponentially and ||Y|| does not fall, so after three or four layers the tokens
// of Y agree to the last bit. Therefore the state is Y = g 1' + 2^s R (one token per column, R 1 =
// 0). Terms of a row's logits that are equal for all tokens cancel in the softmax, which leaves, up
// to the factor 1/sqrt d,
//   p = softmax_j((W_Q'g).(W_K'y_j)),   h_ij = (W_Q'r_i).(W_K'y_j) 2^s,   P_ij = p_j + E_ij,
//   E_ij = p_j (expm1(h_ij) - sum_l p_l expm1(h_il)) / sum_l p_l exp(h_il),   rows of E summing to
//   0,
// and with them P Y = (shared part) + (E - its mean row) R. Because g drops out of E too, h may use
// r_j instead of y_j: h and E are of the order 4^s, and R of the next layer is of the order 8^s.
#pragma once

#include <armadillo>

namespace ranklab::bounds {

struct SplitState {
  arma::vec shared;         // g (d), the mean token
  arma::mat rest;           // R (d, N)
  double log2_scale = 0.0;  // s

  /// Splits Y (d, N).
  explicit SplitState(const arma::mat& Y);
  /// Natural logarithm of mu = 2^s ||R||_F; minus infinity if all tokens are equal.
  double log_mu() const;
  /// Y, rounded.
  arma::mat tokens() const;
};

/// One layer: Y <- softmax(Y W_Q W_K' Y' / sqrt d) Y W_V in the paper's layout (one token per row).
/// The weights are (d, d). If an entry overflows, the state is not finite.
void split_attention(SplitState& state, const arma::mat& W_Q, const arma::mat& W_K,
                     const arma::mat& W_V);

/// Scales every token to Euclidean norm 1. With z_i = (2 g.r_i 2^s + |r_i|^2 4^s) / |g|^2 and
/// e_i = (1 + z_i)^(-1/2) - 1, token i becomes (g + 2^s r_i + e_i (g + 2^s r_i)) / |g|, and e_i is
/// of the order 2^s.
void normalize_split_rows(SplitState& state);

}  // namespace ranklab::bounds
