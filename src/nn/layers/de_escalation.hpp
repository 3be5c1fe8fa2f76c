// De-escalation: subtracts tau times a mean of tokens from every token, Y = X (I - tau C)', forward
// and backward ([Shallow] eq. (21)).
//
//   segment  mean over the whole sequence, as printed: in a causal model tokens see later tokens
//   prefix   mean over the token and earlier ones: with tau = 1 the first token becomes 0
//   strict   mean over earlier tokens only: the first token does not change
#pragma once

#include <armadillo>

#include "nn/layers/parameter.hpp"

namespace ranklab {

enum class MeanOver { segment, prefix, strict };

struct DeEscalation {
  // Place in a post-norm block: its output; R' for skip and net; R' only for the net. In a pre-norm
  // block, `branch` is the normalized inputs of mixer and net.
  enum class At { end, feed_forward, branch };

  double tau = 1;  // of a learned tau: its initial value
  MeanOver mean = MeanOver::segment;
  At at = At::end;
  arma::uword length = 1;  // tokens of a sequence
  bool learns_tau = false;
  double tau_rate = 1;  // of a learned tau: multiplies the learning rate

  /// Replaces X (d, N), N a multiple of `length`, by Y.
  template <class T>
  void forward(arma::Mat<T>& X) const;
  /// Replaces the gradient in Y by that in X.
  template <class T>
  void backward(arma::Mat<T>& G) const;
};

/// De-escalation at one place of a block whose tau, a parameter of one entry, may be learned.
template <class T>
class MeanRemoval {
 public:
  /// Replaces X (d, N) by Y; of a learned tau, stores what backward() needs.
  void forward(const DeEscalation& of, const Parameter<T>& tau, arma::Mat<T>& X);
  /// Replaces the gradient in Y by that in X. Adds to the gradient of a learned tau.
  void backward(const DeEscalation& of, Parameter<T>& tau, arma::Mat<T>& G);

 private:
  arma::Mat<T> mean_;  // (d, N): C X
};

}  // namespace ranklab
