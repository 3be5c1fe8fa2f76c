// Softmax attention over B sequences of T tokens at once, forward and backward. The maps to q, k, v and from H are the caller's.
#pragma once

#include <armadillo>
#include <cstdint>

namespace ranklab {

struct AttentionShape {
  std::uint64_t heads = 1, context = 1;  // h, which divides d; T, which divides N = B T
  bool causal = true;                    // token i attends to tokens 0 ... i of its sequence alone
  bool rotary = false;                   // q and k of token t: pair (j, j + d_h / 2) turned by t 10000^(-2j / d_h), d_h even
  bool qk_norm = false;                  // q and k of each head to mean square 1, before they are turned
  double norm_epsilon = 1e-6;            // of qk_norm
};

/// What the forward pass leaves for the backward one. Sequence b owns columns b T ... (b + 1) T - 1, head k rows k d_h ... (k + 1)
/// d_h - 1, of matrices (d, N).
template <class T>
struct AttentionPass {
  arma::Mat<T> q, k, v;               // (d, N): maps of the tokens, set by the caller; q and k then normed and turned, in place
  arma::Mat<T> inverse_q, inverse_k;  // (h, N): of qk_norm
  arma::Mat<T> P;                     // (T, B h T): for sequence b and head k, T columns: what each token attends to
  arma::Mat<T> H;                     // (d, N): [P_1 v_1 ... P_h v_h]
};

template <class T>
class Attention {
 public:
  explicit Attention(const AttentionShape& shape, std::uint64_t dim);

  /// pass.q, k, v -> pass.H, with P = softmax(q k' / sqrt(d_h)) for each sequence and head.
  void forward(AttentionPass<T>& pass) const;
  /// From dH: the gradients in the q, k, v that the caller had set.
  void backward(const AttentionPass<T>& pass, const arma::Mat<T>& dH, arma::Mat<T>& dq, arma::Mat<T>& dk, arma::Mat<T>& dv) const;

 private:
  void norm_and_turn(arma::Mat<T>& q, arma::Mat<T>& inverse) const;
  void norm_and_turn_backward(const arma::Mat<T>& q, const arma::Mat<T>& inverse, arma::Mat<T>& dq) const;

  AttentionShape shape_;
  arma::uword width_;           // d_h
  arma::Mat<T> cosine_, sine_;  // (d_h / 2, T), of rotary
};

}  // namespace ranklab
