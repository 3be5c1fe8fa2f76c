// Mixers: the maps of a block in which the tokens of a sequence meet. One token per column, sequence after sequence of `length`
// tokens; d width of a token, N = B length.
#pragma once

#include <armadillo>
#include <vector>

#include "training/layers/parameter.hpp"

namespace ranklab {

template <class T>
class Mixer {
 public:
  virtual ~Mixer() = default;
  /// In a fixed order; they live as long as the mixer.
  virtual std::vector<Parameter<T>*> parameters() = 0;
  /// Before the passes of a batch, which may come in parts: what depends on the weights alone.
  virtual void prepare() {}
  /// X (d, N) -> Y (d, N). Keeps what backward() needs.
  virtual void forward(const arma::Mat<T>& X, arma::Mat<T>& Y) = 0;
  /// After forward() with the same X: from dY, adds to the gradients of all parameters and sets dX (d, N).
  virtual void backward(const arma::Mat<T>& X, const arma::Mat<T>& dY, arma::Mat<T>& dX) = 0;
  /// After the last of them: gradients that take the sums of all parts.
  virtual void finish() {}
};

}  // namespace ranklab
