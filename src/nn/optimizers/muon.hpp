// Muon: the spectral step with momentum, with Newton-Schulz instead of the exact polar factor.
#pragma once

#include <armadillo>

#include "nn/optimizers/newton_schulz.hpp"

namespace ranklab {

/// The state of one weight matrix. From m_0 = 0, for each gradient g (rows, columns):
///   m <- beta m + (1 - beta) g,   u = (1 - beta) g + beta m,
///   step = -max(1, rows / columns)^(1/2) NewtonSchulz5(u),
/// to be multiplied by the learning rate. m is an average, not a sum, and u looks ahead (Nesterov).
/// Source: K. Jordan et al., "Muon: an optimizer for hidden layers", 2024.
///
/// With `exact`, the polar factor replaces NewtonSchulz5. It is computed in double precision for
/// any T, without singular values up to 1e-7 s_1.
template <class T>
class Muon {
 public:
  /// 0 <= beta < 1.
  explicit Muon(double beta = 0.95, bool exact = false)
      : beta_(static_cast<T>(beta)), exact_(exact) {}
  /// The step for the next gradient, in its shape. All gradients must have the same shape.
  arma::Mat<T> step(const arma::Mat<T>& g);

 private:
  T beta_;
  bool exact_;
  arma::Mat<T> m_;  // empty before the first gradient
};

}  // namespace ranklab
