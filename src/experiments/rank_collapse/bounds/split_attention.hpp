// Attention without skip ([LambdaSkip] Theorems A.2 and A.3), with what all tokens share apart from where they differ.
//
// mu falls doubly exponentially beside ||Y||, which does not fall: after three or four layers the tokens of Y agree to the last
// bit. So the state is Y = g 1' + 2^s R (one token per column, R 1 = 0). Terms of a row's logits that are the same for all
// tokens cancel in its softmax, which leaves, up to the factor 1/sqrt d,
//   p = softmax_j((W_Q'g).(W_K'y_j)),   h_ij = (W_Q'r_i).(W_K'y_j) 2^s,   P_ij = p_j + E_ij,
//   E_ij = p_j (expm1(h_ij) - sum_l p_l expm1(h_il)) / sum_l p_l exp(h_il),   rows of E summing to 0,
// and with them P Y = (shared part) + (E - its mean row) R. As g drops out of E as well, h may take r_j for y_j: h is of the
// order 4^s, E with it, and R of the next layer of the order 8^s.
#pragma once

#include <armadillo>

namespace ranklab::bounds {

template <class T>
struct SplitState {
  arma::Col<T> shared;      // g (d), the mean token
  arma::Mat<T> rest;        // R (d, N)
  double log2_scale = 0.0;  // s

  /// Of Y (d, N).
  explicit SplitState(const arma::Mat<T>& Y);
  /// Natural logarithm of mu = 2^s ||R||_F; minus infinity where all tokens are equal.
  double log_mu() const;
  /// Y, as far as T can tell it.
  arma::Mat<T> tokens() const;
};

/// One layer: Y <- softmax(Y W_Q W_K' Y' / sqrt d) Y W_V in the paper's rows. Weights (d, d). Entries that overflow leave the
/// state non-finite.
template <class T>
void split_attention(SplitState<T>& state, const arma::Mat<T>& W_Q, const arma::Mat<T>& W_K, const arma::Mat<T>& W_V);

/// Every token to Euclidean norm 1: with z_i = (2 g.r_i 2^s + |r_i|^2 4^s) / |g|^2 and e_i = (1 + z_i)^(-1/2) - 1, token i becomes
/// (g + 2^s r_i + e_i (g + 2^s r_i)) / |g|, where e_i is of the order 2^s.
template <class T>
void normalise_split_rows(SplitState<T>& state);

}  // namespace ranklab::bounds
