// Softmax attention and linear attention over one sequence.
#pragma once

#include <armadillo>
#include <cstdint>
#include <vector>

namespace ranklab {

/// P' (N, N): column i holds the attention weights of token i. P = softmax over rows of `scale` Q
/// K'. Q and K are (d_h, N), one token per column. With `causal`, token i attends only to tokens 0
/// ... i. scale >= 0. Every column sums to one, for logits of any size.
template <class T>
arma::Mat<T> attention_matrix(const arma::Mat<T>& Q, const arma::Mat<T>& K, double scale,
                              bool causal = false);

/// P_k' of each head. Head k owns rows k d/h ... (k+1) d/h - 1 of Q and K (d, N).
template <class T>
std::vector<arma::Mat<T>> head_attention_matrices(const arma::Mat<T>& Q, const arma::Mat<T>& K,
                                                  std::uint64_t heads, double scale,
                                                  bool causal = false);

/// [P_1 V_1 ... P_h V_h] (d, N), where V_k is head k's part of V (d, N) and `P` holds the P_k'.
template <class T>
arma::Mat<T> mixed_heads(const arma::Mat<T>& V, const std::vector<arma::Mat<T>>& P);

/// phi(x) = elu(x) + 1 = x + 1 for x > 0, exp(x) otherwise, entry by entry: the feature map of
/// linear attention.
template <class T>
void elu_plus_one(arma::Mat<T>& X);

/// Linear attention, y_i = sum_j (phi(q_i).phi(k_j)) v_j / (sum_j phi(q_i).phi(k_j) + 1e-12) over
/// all j. Q and K are phi's values (d_k, N), V is (d_v, N); returns (d_v, N). O(N d_k d_v), without
/// an N x N matrix.
template <class T>
arma::Mat<T> linear_attention(const arma::Mat<T>& Q, const arma::Mat<T>& K, const arma::Mat<T>& V);

}  // namespace ranklab
