// Token mixers: the maps of a block in which tokens of a sequence interact. One token per column,
// sequence after sequence of `length` tokens; d width of a token, N = B length.
#pragma once

#include <armadillo>
#include <vector>

#include "nn/layers/parameter.hpp"

namespace ranklab {

template <class T>
class Mixer {
 public:
  virtual ~Mixer() = default;
  /// In a fixed order; valid as long as the mixer.
  virtual std::vector<Parameter<T>*> parameters() = 0;
  /// Call before the passes of a batch, which may come in parts: computes what depends only on the
  /// weights.
  virtual void prepare() {}
  /// X (d, N) -> Y (d, N). Stores what backward() needs.
  virtual void forward(const arma::Mat<T>& X, arma::Mat<T>& Y) = 0;
  /// Call after forward() with the same X. From dY, adds to the gradients of all parameters and
  /// sets dX (d, N).
  virtual void backward(const arma::Mat<T>& X, const arma::Mat<T>& dY, arma::Mat<T>& dX) = 0;
  /// Call after the last part: computes the gradients that need sums over all parts.
  virtual void finish() {}
};

}  // namespace ranklab
