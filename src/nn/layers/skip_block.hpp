// One block of a sequence model with lambda-skip connections: a mixer and a feed-forward net,
// forward and backward.
//
//   pre   R' = lambda R + Mix(norm(R))      R+ = c R' + F(norm(R'))
//   post  R' = norm(lambda R + Mix(R))      R+ = norm(c R' + F(R'))
//   F(X) = W2 sigma(W1 X [+ b1]) [o (Wg X)] [+ b2]; with width 0 there is no F, and R+ = R'
//
// `post` is [LambdaSkip] eq. (6) with a feed-forward net. c = 1, or lambda if it multiplies both
// skips. Each block has one lambda. Post-norm blocks can remove the mean token from R+, from R', or
// from the input of F, and pre-norm blocks from the inputs of Mix and F (de_escalation.hpp).
#pragma once

#include <armadillo>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/pieces_in_turn.hpp"
#include "ensembles/activations.hpp"
#include "nn/layers/affine_norm.hpp"
#include "nn/layers/de_escalation.hpp"
#include "nn/layers/initial_weights.hpp"
#include "nn/layers/mixer.hpp"

namespace ranklab {

struct SkipBlockShape {
  std::uint64_t dim = 32, hidden = 64;     // d; width of the feed-forward net, 0: no net
  const Activation* activation = nullptr;  // a gated one brings Wg
  bool net_biases = true;                  // b1 and b2
  Norm norm = Norm::layer;                 // or rms
  double norm_epsilon = 1e-5;
  bool norm_gains = true;
  bool post = false;                          // norms after the sums, not before the branches
  std::optional<DeEscalation> de_escalation;  // with pre-norm blocks only At::branch
  double lambda = 1.0;                        // initial value
  bool lambda_at_both = false, learns_lambda = false;
  double lambda_rate = 1.0;  // of a learned lambda: multiplies the learning rate

  NormShape norms() const { return {norm, norm_epsilon, norm_gains}; }
};

template <class T>
struct FeedForwardParameters {
  AffineNorm<T> norm;
  Parameter<T> W1, W2;
  std::optional<Parameter<T>> b1, b2, Wg;
};

template <class T>
class SkipBlock {
 public:
  SkipBlock(const SkipBlockShape& shape, std::unique_ptr<Mixer<T>> mixer,
            const InitialWeights& initial);

  /// Norms, mixer, [lambda], [tau], feed-forward net.
  std::vector<Parameter<T>*> parameters();
  Mixer<T>& mixer() { return *mixer_; }
  const Mixer<T>& mixer() const { return *mixer_; }
  AffineNorm<T>& norm() { return norm1_; }
  const AffineNorm<T>& norm() const { return norm1_; }
  /// Null if there is no feed-forward net.
  FeedForwardParameters<T>* net() { return net_ ? &*net_ : nullptr; }
  const FeedForwardParameters<T>* net() const { return net_ ? &*net_ : nullptr; }
  /// The mixer's contribution to the stream, Mix(norm(R)) or Mix(R). Does not prepare backward().
  void branch(const arma::Mat<T>& R, arma::Mat<T>& out);
  double lambda() const { return static_cast<double>(lambda_.W(0)); }
  /// The fraction of the mean token that is removed; of a learned one, its present value.
  double tau() const { return static_cast<double>(tau_.W(0)); }

  /// Column indices of tokens. After the mixer, tokens are processed independently, unless
  /// de-escalation takes their mean.
  using Columns = std::vector<std::uint64_t>;
  /// R (d, N) -> R+ (d, N), or only the given columns of R+. Stores what backward() needs, except
  /// R.
  void forward(const arma::Mat<T>& R, arma::Mat<T>& out, const Columns* columns = nullptr);
  /// The second half of forward(): from middle() on.
  void forward_net(arma::Mat<T>& out);
  /// R' (d, N).
  arma::Mat<T>& middle() { return middle_; }
  const arma::Mat<T>& middle() const { return middle_; }
  // Values of the last forward pass of a `pre` block: the inputs of the mixer and of W1 (d, N), and
  // the input of W2 (w, N).
  const arma::Mat<T>& mixer_input() const { return A_; }
  const arma::Mat<T>& net_input() const { return Am_; }
  const arma::Mat<T>& net_hidden() const { return S_; }
  /// Call after forward() with the same R and columns. Adds to the gradients of the parameters in
  /// turns; dR holds the gradient in the output and becomes that in R.
  void backward(const arma::Mat<T>& R, arma::Mat<T>& dR, const Columns* columns, Turns& turns);
  void backward(const arma::Mat<T>& R, arma::Mat<T>& dR, const Columns* columns = nullptr) {
    Turns alone;
    backward(R, dR, columns, alone);
  }

 private:
  void feed_forward(const arma::Mat<T>& X, arma::Mat<T>& out);
  void feed_forward_backward(const arma::Mat<T>& X, const arma::Mat<T>& dout, arma::Mat<T>& dX,
                             Turns& turns);
  void backward_in_turns(const arma::Mat<T>& R, arma::Mat<T>& dR, const Columns* columns,
                         Turns& turns);
  /// De-escalates X, or the gradient, if this is its place.
  void remove_mean(DeEscalation::At at, MeanRemoval<T>& removal, arma::Mat<T>& X) {
    if (de_escalates(at)) removal.forward(*shape_.de_escalation, tau_, X);
  }
  void remove_mean_backward(DeEscalation::At at, MeanRemoval<T>& removal, arma::Mat<T>& G) {
    if (de_escalates(at)) removal.backward(*shape_.de_escalation, tau_, G);
  }
  bool de_escalates(DeEscalation::At at) const {
    return shape_.de_escalation && shape_.de_escalation->at == at;
  }
  T at_feed_forward() const { return shape_.lambda_at_both ? lambda_.W(0) : T(1); }

  SkipBlockShape shape_;
  std::unique_ptr<Mixer<T>> mixer_;
  Parameter<T> lambda_, tau_;
  MeanRemoval<T> removal_, mixer_removal_;  // the latter from the input of Mix
  AffineNorm<T> norm1_;
  std::optional<FeedForwardParameters<T>> net_;
  arma::Mat<T> A_, middle_, Am_;  // (d, N); middle_ is R'
  arma::Mat<T> Z_, gate_, S_;     // (w, N): of activate(): what its backward pass needs; S
  // Buffers that no pass leaves to another. All blocks of a thread share them, so that they stay in
  // cache. mixed_ (d, N): lambda R + Mix or its gradient, if only some columns continue.
  static inline thread_local arma::Mat<T> sum_, dA_, dS_, mixed_;
};

}  // namespace ranklab
