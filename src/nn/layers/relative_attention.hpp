// Causal attention with relative positions, as in Transformer-XL (Dai et al., 2019); replaces
// Attention. With i - j = D,
//
//   S_ij = ((q_i + u)'k_j + (q_i + v)'r_D) / sqrt(d_h), j <= i,
//   r_D = Wr R_D,   R_D = [sin(D f); cos(D f)],   f_k = 10000^(-2k/d)
//
// Parameters: Wr (d, d) per layer; u and v (d, 1), shared by all layers, with one part per head.
// There is no memory of earlier segments.
#pragma once

#include "nn/layers/attention.hpp"
#include "nn/layers/initial_weights.hpp"

namespace ranklab {

/// All layers add to the same gradients.
template <class T>
struct RelativeBiases {
  explicit RelativeBiases(arma::uword dim, const InitialWeights& initial)
      : u(initial.table<T>("u", dim, 1)), v(initial.table<T>("v", dim, 1)) {}

  Parameter<T> u, v;
};

template <class T>
class RelativeAttention {
 public:
  /// `shape` has no rotary positions and no qk_norm; d is even; `shared` must outlive this object.
  RelativeAttention(const AttentionShape& shape, arma::uword dim, RelativeBiases<T>& shared,
                    const InitialWeights& initial);

  Parameter<T>& map() { return Wr_; }
  /// What prepare() sets.
  std::vector<arma::Mat<T>*> of_batch() { return {&r_, &dr_}; }
  void prepare();
  /// pass.q, k, v -> pass.P, pass.H.
  void forward(AttentionPass<T>& pass);
  /// From dH: dq, dk, dv; adds to the gradients of u and v.
  void backward(const AttentionPass<T>& pass, const arma::Mat<T>& dH, arma::Mat<T>& dq,
                arma::Mat<T>& dk, arma::Mat<T>& dv);
  /// Adds to the gradient of Wr.
  void finish();

 private:
  AttentionShape shape_;
  arma::uword width_;  // d_h
  RelativeBiases<T>& shared_;
  Parameter<T> Wr_;
  arma::Mat<T> waves_;             // (d, T): R_(T-1) ... R_0
  arma::Mat<T> r_, dr_, qu_, qv_;  // (d, T), (d, T), (d, N), (d, N): q + u, q + v
  arma::Mat<T> by_lag_, dS_;       // (T, T): entry (T - 1 - D, i); entry (j, i)
  arma::Mat<T> dq_by_lag_;         // (d, N): gradient in q through r
};

}  // namespace ranklab
