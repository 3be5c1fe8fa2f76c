// RMS and layer norm with a gain, and with a bias where the mean is taken away: Y = gain o a + bias, forward and backward.
#pragma once

#include <armadillo>
#include <vector>

#include "training/layers/initial_weights.hpp"
#include "training/layers/norm.hpp"
#include "training/layers/parameter.hpp"

namespace ranklab {

/// `kind` is rms (gain alone, as in Mamba-2) or layer. Gain 1 and bias 0 at the start.
template <class T>
class AffineNorm {
 public:
  AffineNorm(Norm kind, arma::uword dim, const InitialWeights& initial, double epsilon = 1e-5);

  std::vector<Parameter<T>*> parameters();
  /// X (d, N) -> Y (d, N).
  void forward(const arma::Mat<T>& X, arma::Mat<T>& Y);
  /// After forward(): the gradients in gain and bias, and that in X added to dX (d, N).
  void backward(const arma::Mat<T>& dY, arma::Mat<T>& dX);

 private:
  Norm kind_;
  double epsilon_;
  Parameter<T> gain_, bias_;
  NormPass<T> pass_;
  arma::Col<T> da_;  // (2 d): the gradient in a token's a, and room for that in a bias that there is not
};

}  // namespace ranklab
