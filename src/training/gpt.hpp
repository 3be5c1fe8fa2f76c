// A small GPT: forward, backward, and the ways its weights start.
//
// Legend: V vocabulary, d dim, h heads, d_h = d / h, T context, B sequences, N = B T tokens, L layers, w width of the feed-forward
// net.
//   x = norm(E[id])                                   with rotary positions
//   x = E[id] + P[t]                                  with learned ones
//   A  = norm(x); H = attention(Wq A, Wk A, Wv A);    x += Wo H
//   Am = norm(x); S = sigma(W1 Am) [o (Wg Am)];       x += W2 S
//   Af = norm(x); logits = W_head Af                  untied
// Norms have no gain and no bias, maps no bias. One token per column, sequence after sequence.
//
// Source: [Spectral] Section 2.2 and the code of its experiments. Differs from that code: no value embeddings, no skips across
// layers, no cap on logits.
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
  bool learned_positions = false;  // else rotary
  bool qk_norm = true;

  double norm_epsilon() const { return norm == Norm::layer ? 1e-5 : 1e-6; }
  /// Of one layer in the order of the file: Wq, Wk, Wv, Wo, W1, W2 and, where the activation is gated, Wg.
  std::vector<std::string> blocks() const;
};

/// How weights start, with fan_in the columns of a matrix (out, in):
///   modded  E N(0, 1); Wq, Wk, Wv, W1, Wg N(0, 1 / (4 d)); Wo, W2 and the head 0
///   gauss   E N(0, 1); all others N(0, 1 / fan_in), Assumption A of [Spectral]
///   gpt2    N(0, 0.02^2), Wo and W2 N(0, 0.02^2 / (2 L))
/// Learned positions start as E does.
enum class GptStart { modded, gauss, gpt2 };

template <class T>
struct GptLayerPass {
  arma::Mat<T> x;  // (d, N), what enters the layer
  NormPass<T> A;
  AttentionPass<T> attention;
  arma::Mat<T> middle;  // x after attention
  NormPass<T> Am;
  arma::Mat<T> Z, M, S;  // (w, N): W1 Am, Wg Am, post-activations
};

/// What a pass leaves behind; its matrices keep their memory from pass to pass.
template <class T>
struct GptPass {
  arma::Mat<T> embedded;  // (d, N), E[id]
  NormPass<T> first;      // of it, with rotary positions
  std::vector<GptLayerPass<T>> layers;
  arma::Mat<T> last;  // (d, N), what leaves the last layer
  NormPass<T> Af;
  arma::Mat<T> logits;  // (V, N); after loss() their gradient
};

template <class T>
class Gpt {
 public:
  /// Weights drawn from the streams named as the parameters are, in double whatever T is.
  Gpt(const GptShape& shape, GptStart start, const Trial& trial);

  const GptShape& shape() const { return shape_; }
  std::vector<Parameter<T>>& parameters() { return parameters_; }
  const std::vector<Parameter<T>>& parameters() const { return parameters_; }
  Parameter<T>& embedding() { return parameters_.front(); }
  const Parameter<T>& embedding() const { return parameters_.front(); }
  Parameter<T>& head() { return parameters_.back(); }
  const Parameter<T>& head() const { return parameters_.back(); }
  /// Throws std::logic_error where the model has no such block.
  Parameter<T>& block(std::uint64_t layer, std::string_view name);
  const Parameter<T>& block(std::uint64_t layer, std::string_view name) const;

  /// The mean loss of a batch, and with `gradient` those of all parameters; by parts that stay in cache. seen(part) is called after
  /// the forward pass of each, which is then in `pass`.
  double loss_by_parts(const TokenBatch& batch, GptPass<T>& pass, bool gradient,
                       const std::function<void(const TokenBatch&)>& seen);

  // One step after the other, all at once.
  /// The pass as far as the logits, from the embedding on.
  void forward(const TokenBatch& batch, GptPass<T>& pass) const;
  /// The same from layer `first` on (L: the head alone), or from its norm after attention on; what enters there is in `pass`.
  void forward_from(std::uint64_t first, GptPass<T>& pass, bool after_attention = false) const;
  /// The mean cross-entropy in nats of the logits, which are overwritten.
  double loss(const TokenBatch& batch, GptPass<T>& pass, bool gradient) const;
  /// The gradients of all parameters; after forward() and loss() with gradient.
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
  // Gradients in what the pass holds, kept for their memory.
  arma::Mat<T> dx_, dA_, dq_, dk_, dv_, dH_, dS_, dM_;
};

/// Floating-point operations of one forward pass over N tokens; a training step takes three times as many.
double gpt_flops(const GptShape& shape, double tokens);
/// Numbers in the weights.
double gpt_parameters(const GptShape& shape);
/// Numbers that a pass over N tokens keeps.
double gpt_pass_numbers(const GptShape& shape, double tokens);

}  // namespace ranklab
