// A weight matrix and the gradient of the loss with respect to it.
#pragma once

#include <armadillo>
#include <memory>
#include <optional>
#include <string>

namespace ranklab {

/// Makes A another name of the entries of B. B must outlive the use of A and keep its memory.
template <class T>
void alias(arma::Mat<T>& A, arma::Mat<T>& B) {
  // Only Armadillo's constructor can take foreign memory.
  std::destroy_at(&A);
  std::construct_at(&A, B.memptr(), B.n_rows, B.n_cols, false, true);
}

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
  /// Uses the weights of another parameter and adds to its gradient.
  void share(Parameter& of) {
    alias(W, of.W);
    alias(G, of.G);
    if (of.error_moment) {
      arma::mat& theirs = *of.error_moment;
      error_moment.emplace(theirs.memptr(), theirs.n_rows, theirs.n_cols, false, true);
    } else {
      error_moment.reset();
    }
  }
};

}  // namespace ranklab
