// The short causal convolution of Mamba and Mamba-2: each channel has its own four taps, followed
// by silu. Legend: c channels, N tokens of all sequences.
//
//   y_t = silu(bias + sum_k w_k x_{t - 3 + k}),  k = 0 ... 3    the last tap is for token t
//
// Initial values: weight uniform on [-1/2, 1/2], bias 0. No weight decay.
#pragma once

#include "nn/layers/initial_weights.hpp"
#include "nn/layers/parameter.hpp"

namespace ranklab {

template <class T>
class ShortConvolution {
 public:
  ShortConvolution(arma::uword channels, arma::uword length, const InitialWeights& initial);

  Parameter<T> weight, bias;  // "conv.weight" (c, 4) and "conv.bias" (c)

  /// Call before the first sequence of a pass over N tokens.
  void start(arma::uword N);
  /// For the sequence that starts at token `first`: x (c, length), stored in rows of a matrix with
  /// `rows` rows -> columns of output().
  void forward(arma::uword first, const T* x, arma::uword rows);
  /// y (c, N).
  const arma::Mat<T>& output() const { return y_; }

  /// Call after forward() of the sequence, with the same x. From dy (c, length), which it changes,
  /// adds to the gradients of the parameters and sets dx, stored as x.
  void backward(arma::uword first, const T* x, T* dy, T* dx, arma::uword rows);

 private:
  arma::uword channels_, length_;
  arma::Mat<T> y_, slope_;  // (c, N): silu of the convolution, and its slope
  arma::Col<T> padding_;    // (c): 0, the tokens before and after a sequence
};

}  // namespace ranklab
