// Softmax attention over B sequences of T tokens at once, forward and backward. The caller applies
// the maps to q, k, v and from H.
#pragma once

#include <armadillo>
#include <cstdint>

namespace ranklab {

struct AttentionShape {
  std::uint64_t heads = 1, context = 1;  // h, which divides d; T, which divides N = B T
  bool causal = true;                    // token i attends only to tokens 0 ... i of its sequence
  // q and k of token t: pair (j, j + d_h / 2) is rotated by t 10000^(-2j / d_h); d_h even.
  bool rotary = false;
  bool qk_norm = false;        // q and k of each head have mean square 1 before the rotation
  double norm_epsilon = 1e-6;  // of qk_norm
};

/// Values of the forward pass that the backward pass needs. In matrices (d, N), sequence b owns
/// columns b T ... (b + 1) T - 1, and head k owns rows k d_h ... (k + 1) d_h - 1.
template <class T>
struct AttentionPass {
  // (d, N): set by the caller; q and k are then normalized and rotated in place.
  arma::Mat<T> q, k, v;
  arma::Mat<T> inverse_q, inverse_k;  // (h, N): 1 / rms, with qk_norm
  arma::Mat<T> P;  // (T, B h T): T columns of attention weights per sequence b and head k
  arma::Mat<T> H;  // (d, N): [P_1 v_1 ... P_h v_h]
};

template <class T>
class Attention {
 public:
  explicit Attention(const AttentionShape& shape, std::uint64_t dim);

  /// pass.q, k, v -> pass.H, with P = softmax(q k' / sqrt(d_h)) for each sequence and head.
  void forward(AttentionPass<T>& pass) const;
  /// From dH: the gradients in the q, k, v that the caller set.
  void backward(const AttentionPass<T>& pass, const arma::Mat<T>& dH, arma::Mat<T>& dq,
                arma::Mat<T>& dk, arma::Mat<T>& dv) const;

 private:
  void norm_and_rotate(arma::Mat<T>& q, arma::Mat<T>& inverse) const;
  void norm_and_rotate_backward(const arma::Mat<T>& q, const arma::Mat<T>& inverse,
                                arma::Mat<T>& dq) const;

  AttentionShape shape_;
  arma::uword width_;           // d_h
  arma::Mat<T> cosine_, sine_;  // (d_h / 2, T), with rotary
};

}  // namespace ranklab
