// A small GPT: forward pass, backward pass and initialization.
//
// Legend: V vocabulary, d dim, h heads, d_h = d / h, T context, B sequences, N = B T tokens, L
// layers, w width of the feed-forward net.
//   x = norm(E[id])                                   with rotary positions
//   x = E[id] + P[t]                                  with learned ones
//   A  = norm(x); H = attention(Wq A, Wk A, Wv A);    x += Wo H
//   Am = norm(x); S = sigma(W1 Am) [o (Wg Am)];       x += W2 S
//   Af = norm(x); logits = W_head Af                  untied
// Norms have no gain or bias, and maps have no bias. Matrices hold one token per column, sequence
// after sequence.
//
// Source: [Spectral] Section 2.2 and the code of its experiments. Differs from that code: no value
// embeddings, no skips across layers, no cap on logits.
#pragma once

#include <armadillo>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/activations.hpp"
#include "models/blocks/norms.hpp"
#include "run/trials.hpp"
#include "training/layers/attention.hpp"
#include "training/layers/norm.hpp"
#include "training/layers/parameter.hpp"
#include "training/tasks/corpus.hpp"

namespace ranklab {

struct GptShape {
  std::uint64_t vocabulary = 1024, layers = 4, dim = 64, heads = 4, context = 64;
  std::uint64_t hidden = 256;  // w
  const Activation* activation = nullptr;
  Norm norm = Norm::rms;           // rms (epsilon 1e-6) or layer (1e-5)
  bool learned_positions = false;  // otherwise rotary
  bool qk_norm = true;

  double norm_epsilon() const { return norm == Norm::layer ? 1e-5 : 1e-6; }
  /// Names of the matrices of one layer in file order: Wq, Wk, Wv, Wo, W1, W2 and, if the
  /// activation is gated, Wg.
  std::vector<std::string> blocks() const;
};

/// Initial weights; fan_in is the number of columns of a matrix (out, in):
///   modded  E N(0, 1); Wq, Wk, Wv, W1, Wg N(0, 1 / (4 d)); Wo, W2 and the head 0
///   gauss   E N(0, 1); all others N(0, 1 / fan_in), Assumption A of [Spectral]
///   gpt2    N(0, 0.02^2), Wo and W2 N(0, 0.02^2 / (2 L))
/// Learned positions have the same law as E.
enum class GptStart { modded, gauss, gpt2 };

template <class T>
struct GptLayerPass {
  arma::Mat<T> x;  // (d, N), input of the layer
  NormPass<T> A;
  AttentionPass<T> attention;
  arma::Mat<T> middle;  // x after attention
  NormPass<T> Am;
  arma::Mat<T> Z, M, S;  // (w, N): W1 Am, Wg Am, post-activations
};

/// Intermediate values of a pass. The matrices reuse their memory from pass to pass.
template <class T>
struct GptPass {
  arma::Mat<T> embedded;  // (d, N), E[id]
  NormPass<T> first;      // norm of `embedded`, with rotary positions
  std::vector<GptLayerPass<T>> layers;
  arma::Mat<T> last;  // (d, N), output of the last layer
  NormPass<T> Af;
  arma::Mat<T> logits;  // (V, N); their gradient after loss()
};

template <class T>
class Gpt {
 public:
  /// Draws each parameter in double precision, for any T, from the stream of its name.
  Gpt(const GptShape& shape, GptStart start, const Trial& trial);

  const GptShape& shape() const { return shape_; }
  std::vector<Parameter<T>>& parameters() { return parameters_; }
  const std::vector<Parameter<T>>& parameters() const { return parameters_; }
  Parameter<T>& embedding() { return parameters_.front(); }
  const Parameter<T>& embedding() const { return parameters_.front(); }
  Parameter<T>& head() { return parameters_.back(); }
  const Parameter<T>& head() const { return parameters_.back(); }
  /// Throws std::logic_error if the model has no such block.
  Parameter<T>& block(std::uint64_t layer, std::string_view name);
  const Parameter<T>& block(std::uint64_t layer, std::string_view name) const;

  /// The mean loss of a batch; with `gradient`, also computes the gradients of all parameters.
  /// Works in parts that fit the cache, and calls seen(part) after the forward pass of each part,
  /// while `pass` holds it.
  double loss_by_parts(const TokenBatch& batch, GptPass<T>& pass, bool gradient,
                       const std::function<void(const TokenBatch&)>& seen);

  // The same in single steps, for the whole batch at once.
  /// From the embedding to the logits.
  void forward(const TokenBatch& batch, GptPass<T>& pass) const;
  /// The same from layer `first` on (L: only the head), or from the norm after its attention on.
  /// `pass` holds the input there.
  void forward_from(std::uint64_t first, GptPass<T>& pass, bool after_attention = false) const;
  /// The mean cross-entropy of the logits in nats. Overwrites the logits.
  double loss(const TokenBatch& batch, GptPass<T>& pass, bool gradient) const;
  /// Computes the gradients of all parameters. Call after forward() and loss() with gradient.
  void backward(const TokenBatch& batch, GptPass<T>& pass);

 private:
  void embed(const TokenBatch& batch, GptPass<T>& pass) const;
  void attend(std::uint64_t l, GptLayerPass<T>& pass) const;
  void feed_forward(std::uint64_t l, GptLayerPass<T>& pass, arma::Mat<T>& out) const;
  void backward_layer(std::uint64_t l, GptLayerPass<T>& pass, arma::Mat<T>& dx);
  void clear_gradients();
  void backward_part(const TokenBatch& part, GptPass<T>& pass);
  void embed_backward(const TokenBatch& batch, const GptPass<T>& pass, const arma::Mat<T>& dx);

  GptShape shape_;
  Attention<T> attention_;
  std::vector<Parameter<T>> parameters_;
  // Gradients with respect to the intermediate values; members so that their memory is reused.
  arma::Mat<T> dx_, dA_, dq_, dk_, dv_, dH_, dS_, dM_;
};

/// Floating-point operations of one forward pass over N tokens. A training step takes three times
/// as many.
double gpt_flops(const GptShape& shape, double tokens);
/// Number of parameters.
double gpt_parameters(const GptShape& shape);
/// Number of values that a pass over N tokens stores.
double gpt_pass_numbers(const GptShape& shape, double tokens);

}  // namespace ranklab
