// The bare stack of [LambdaSkip] eq. (6): Y~ = M(Y) Y C_V + lambda Y, then the norm.
//
//   attention          M = softmax over rows of Y W_Q W_K' Y' / sqrt(d),  C_V = W_V
//   linear-attention   M = diag(1 / row sums) phi(Y W_Q) phi(Y W_K)',     C_V = W_V
//   lti-ssm            M_ij = K[i - j], K[l] = sum_n C_n A_n^l B_n,       C_V = I
//   selective-ssm      M_ij = alpha^(i-j) (y_i W_C)(y_j W_B)',            C_V = I
//
// W_Q, W_K, W_V (d, d) and W_B, W_C (d, n) have entries N(0, 1/d).
#pragma once

#include "nn/blocks/block.hpp"

namespace ranklab {

/// M(Y) Y C_V of a state 2^s Y, represented as 2^(s + log2_factor) Y.
template <class T>
struct Mixed {
  arma::Mat<T> Y;            // (d, N)
  double log2_factor = 0.0;  // not 0 if M itself grows with the scale of the state
};

template <class T>
class BareBlock : public Block<T> {
 public:
  explicit BareBlock(const ModelSpec& spec) : dim_(spec.dim), norm_(find_norm(spec.norm)) {}
  /// M(Y) (N, N), row i for output token i, at the state including its scale.
  virtual arma::Mat<T> mixing_matrix(const State<T>& state) const = 0;
  /// C_V (d, d): I, except for attention.
  virtual arma::Mat<T> value_matrix() const { return arma::Mat<T>(dim_, dim_, arma::fill::eye); }
  void forward(State<T>& state, double lambda) const final;

 protected:
  virtual Mixed<T> mix(const State<T>& state) const = 0;

 private:
  arma::uword dim_;
  Norm norm_;
};

}  // namespace ranklab
