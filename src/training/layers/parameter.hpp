// A matrix of weights and the gradient of the loss in it.
#pragma once

#include <armadillo>
#include <string>

namespace ranklab {

template <class T>
struct Parameter {
  std::string name;  // "layer0.Wq"
  arma::Mat<T> W;
  arma::Mat<T> G = {};  // dLoss/dW, in W's shape: what backward passes have added since clear_gradient()
  bool decays = true;   // weight decay applies: to maps and tables, not to norms, biases and the constants of state-space models
  double rate = 1.0;    // times the learning rate

  void clear_gradient() { G.zeros(arma::size(W)); }
};

}  // namespace ranklab
