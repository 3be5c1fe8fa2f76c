// Softmax attention over one sequence, head by head.
#pragma once

#include <armadillo>

namespace ranklab {

/// P' (N, N), where column i holds the weights with which token i attends to the others: P = softmax over rows of
/// `scale` Q K'. Q and K are (d_h, N), one token per column. With `causal`, token i attends to tokens 0 ... i alone.
/// scale >= 0. Every column sums to one, however large the logits are.
template <class T>
arma::Mat<T> attention_matrix(const arma::Mat<T>& Q, const arma::Mat<T>& K, double scale, bool causal = false);

/// phi(x) = elu(x) + 1 = x + 1 for x > 0, exp(x) otherwise, entry by entry: the feature map of linear attention.
template <class T>
void elu_plus_one(arma::Mat<T>& X);

/// Linear attention, y_i = sum_j (phi(q_i).phi(k_j)) v_j / (sum_j phi(q_i).phi(k_j) + 1e-12) over all j, or j <= i with
/// `causal`. Q and K are phi's values (d_k, N), V is (d_v, N); returns (d_v, N). O(N d_k d_v), without an N x N matrix.
template <class T>
arma::Mat<T> linear_attention(const arma::Mat<T>& Q, const arma::Mat<T>& K, const arma::Mat<T>& V, bool causal);

}  // namespace ranklab
