// Token mixers: the maps of a block in which tokens of a sequence interact. One token per column,
// sequence after sequence of `length` tokens; d width of a token, N = B length.
#pragma once

#include <armadillo>
#include <stdexcept>
#include <vector>

#include "nn/layers/parameter.hpp"

namespace ranklab {

/// A batch may come in parts:
///
///   prepare, then for each part forward [and backward], then, if there were backward passes,
///   finish
///
/// Any other order throws std::logic_error.
template <class T>
class Mixer {
 public:
  virtual ~Mixer() = default;
  /// In a fixed order; valid as long as the mixer.
  virtual std::vector<Parameter<T>*> parameters() = 0;

  /// Computes what depends only on the weights.
  void prepare() {
    do_prepare();
    state_ = State::prepared;
  }
  /// X (d, N) -> Y (d, N). Stores what backward() needs.
  void forward(const arma::Mat<T>& X, arma::Mat<T>& Y) {
    if (state_ == State::idle) throw std::logic_error("a mixer's forward pass needs prepare()");
    do_forward(X, Y);
    state_ = State::passed;
  }
  /// With the X of the forward pass. From dY, adds to the gradients of all parameters and sets dX
  /// (d, N).
  void backward(const arma::Mat<T>& X, const arma::Mat<T>& dY, arma::Mat<T>& dX) {
    if (state_ != State::passed) throw std::logic_error("a mixer's backward pass needs forward()");
    do_backward(X, dY, dX);
    state_ = State::prepared;
  }
  /// Computes the gradients that need sums over all parts. The weights may change afterwards.
  void finish() {
    if (state_ == State::idle) throw std::logic_error("a mixer's finish() needs prepare()");
    do_finish();
    state_ = State::idle;
  }

 private:
  virtual void do_prepare() {}
  virtual void do_forward(const arma::Mat<T>& X, arma::Mat<T>& Y) = 0;
  virtual void do_backward(const arma::Mat<T>& X, const arma::Mat<T>& dY, arma::Mat<T>& dX) = 0;
  virtual void do_finish() {}

  enum class State { idle, prepared, passed } state_ = State::idle;
};

}  // namespace ranklab
