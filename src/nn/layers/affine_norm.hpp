// RMS norm with a gain, and layer norm with a gain and a bias: Y = gain o a + bias, forward and
// backward. Without gains, Y = a.
#pragma once

#include <armadillo>
#include <vector>

#include "nn/layers/initial_weights.hpp"
#include "nn/layers/norm.hpp"
#include "nn/layers/parameter.hpp"

namespace ranklab {

struct NormShape {
  Norm kind = Norm::layer;  // or rms, which has only a gain, as in Mamba-2
  double epsilon = 1e-5;
  bool gains = true;
};

/// Initial values: gain 1, bias 0.
template <class T>
class AffineNorm {
 public:
  AffineNorm(const NormShape& shape, arma::uword dim, const InitialWeights& initial);

  std::vector<Parameter<T>*> parameters();
  /// Null if the norm has no gain or bias.
  Parameter<T>* gain() { return shape_.gains ? &gain_ : nullptr; }
  Parameter<T>* bias() { return shape_.gains && shape_.kind == Norm::layer ? &bias_ : nullptr; }
  const Parameter<T>* gain() const { return shape_.gains ? &gain_ : nullptr; }
  const Parameter<T>* bias() const {
    return shape_.gains && shape_.kind == Norm::layer ? &bias_ : nullptr;
  }
  /// X (d, N) -> Y (d, N).
  void forward(const arma::Mat<T>& X, arma::Mat<T>& Y);
  /// Call after forward(): adds to the gradients of gain and bias, and adds the gradient in X to dX
  /// (d, N).
  void backward(const arma::Mat<T>& dY, arma::Mat<T>& dX);

 private:
  NormShape shape_;
  Parameter<T> gain_, bias_;
  NormPass<T> pass_;
  arma::Col<T> da_;  // (2 d): gradient in a token's a; scratch for the bias gradient of rms
};

}  // namespace ranklab
