// De-escalation: every token less tau times a mean of tokens, Y = X (I - tau C)', forward and backward ([Shallow] eq. (21)).
//
//   segment  the mean over the whole sequence, as printed: in a causal model every token then sees those after it
//   prefix   over the token and those before it: at tau = 1 the first token becomes 0
//   strict   over those before it alone: the first token stays
#pragma once

#include <armadillo>

namespace ranklab {

enum class MeanOver { segment, prefix, strict };

struct DeEscalation {
  enum class At { end, feed_forward, branch };  // of a post-norm block: its output; R' for skip and net alike; R' for the net alone

  double tau = 1;
  MeanOver mean = MeanOver::segment;
  At at = At::end;
  arma::uword length = 1;  // tokens of a sequence

  /// X (d, N), N a multiple of `length`, becomes Y.
  template <class T>
  void forward(arma::Mat<T>& X) const;
  /// The gradient in Y becomes that in X.
  template <class T>
  void backward(arma::Mat<T>& G) const;
};

}  // namespace ranklab
