// Token mixers: the maps of a block in which tokens of a sequence interact. One token per column,
// sequence after sequence of `length` tokens; d width of a token, N = B length.
#pragma once

#include <armadillo>
#include <stdexcept>
#include <vector>

#include "nn/layers/parameter.hpp"

namespace ranklab {

/// A batch may come in parts: prepare; then for each part forward, or forward and backward; then
/// finish, if there were backward passes. The backward passes of the last part may be repeated with
/// other dY, each followed by finish. Any other order throws std::logic_error.
template <class T>
class Mixer {
 public:
  virtual ~Mixer() = default;
  /// In a fixed order; valid as long as the mixer.
  virtual std::vector<Parameter<T>*> parameters() = 0;

  /// Computes what depends only on the weights.
  void prepare() {
    do_prepare();
    prepared_ = true;
    passed_ = false;
  }
  /// X (d, N) -> Y (d, N). Stores what backward() needs.
  void forward(const arma::Mat<T>& X, arma::Mat<T>& Y) {
    if (!prepared_) throw std::logic_error("a mixer's forward pass needs prepare()");
    do_forward(X, Y);
    passed_ = true;
  }
  /// With the X of the forward pass. From dY, adds to the gradients of all parameters and sets dX
  /// (d, N).
  void backward(const arma::Mat<T>& X, const arma::Mat<T>& dY, arma::Mat<T>& dX) {
    if (!passed_) throw std::logic_error("a mixer's backward pass needs forward()");
    do_backward(X, dY, dX);
  }
  /// Computes the gradients that need sums over all parts. The weights may change afterwards.
  void finish() {
    if (!passed_) throw std::logic_error("a mixer's finish() needs a pass");
    do_finish();
    prepared_ = false;
  }

 private:
  virtual void do_prepare() {}
  virtual void do_forward(const arma::Mat<T>& X, arma::Mat<T>& Y) = 0;
  virtual void do_backward(const arma::Mat<T>& X, const arma::Mat<T>& dY, arma::Mat<T>& dX) = 0;
  virtual void do_finish() {}

  bool prepared_ = false;  // for the present weights
  bool passed_ = false;    // a forward pass is stored
};

}  // namespace ranklab
