// The bare stack of [LambdaSkip] eq. (6): Y~ = M(Y) Y C_V + lambda Y, then the norm.
//
//   attention          M = softmax over rows of Y W_Q W_K' Y' / sqrt(d),  C_V = W_V
//   linear-attention   M = diag(1 / row sums) phi(Y W_Q) phi(Y W_K)',     C_V = W_V       (with `causal`, lower triangular)
//   lti-ssm            M_ij = K[i - j], K[l] = sum_n C_n A_n^l B_n,       C_V = I
//   selective-ssm      M_ij = alpha^(i-j) (y_i W_C)(y_j W_B)',            C_V = I
//
// W_Q, W_K, W_V (d, d) and W_B, W_C (d, n) have entries N(0, 1/d).
#pragma once

#include <string>

#include "models/blocks/block.hpp"

namespace ranklab {

template <class T>
class BareBlock : public Block<T> {
 public:
  /// M(Y) (N, N), row i for output token i, of the state as it is (its scale included).
  virtual arma::Mat<T> mixing_matrix(const State<T>& state) const = 0;
  /// C_V (d, d).
  virtual arma::Mat<T> value_matrix() const = 0;
};

/// The block of a settled bare spec.
template <class T>
std::unique_ptr<BareBlock<T>> make_bare_block(const ModelSpec& spec, Tensors<T>& tensors);

}  // namespace ranklab
