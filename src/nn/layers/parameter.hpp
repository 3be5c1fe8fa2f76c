// A weight matrix and the gradient of the loss with respect to it.
#pragma once

#include <armadillo>
#include <optional>
#include <string>

namespace ranklab {

template <class T>
struct Parameter {
  std::string name;  // "layer0.Wq"
  arma::Mat<T> W;
  // dLoss/dW, in W's shape: the sum over backward passes since clear_gradient().
  arma::Mat<T> G = {};
  // Whether weight decay applies: to maps and tables, not to norms, biases and the constants of
  // state-space models.
  bool decays = true;
  double rate = 1.0;  // multiplies the learning rate
  // If set, backward passes add sum e e' (out, out), where e is the gradient in the output W a of
  // each sample.
  std::optional<arma::mat> error_moment = {};

  void clear_gradient() { G.zeros(arma::size(W)); }
};

}  // namespace ranklab
