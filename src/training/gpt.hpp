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
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "core/random.hpp"
#include "models/activations.hpp"
#include "models/blocks/norms.hpp"
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
};

/// Initial weights; fan_in is the number of columns of a matrix (out, in):
///   modded  E N(0, 1); Wq, Wk, Wv, W1, Wg N(0, 1 / (4 d)); Wo, W2 and the head 0
///   gauss   E N(0, 1); all others N(0, 1 / fan_in), Assumption A of [Spectral]
///   gpt2    N(0, 0.02^2), Wo and W2 N(0, 0.02^2 / (2 L))
/// Learned positions have the same law as E.
enum class GptStart { modded, gauss, gpt2 };

template <class T>
struct GptLayer {
  Parameter<T> Wq, Wk, Wv, Wo, W1, W2;
  std::optional<Parameter<T>> Wg = {};  // of a gated net

  /// Visits (block name, parameter) in file order.
  void for_each(const auto& visit) { for_each(*this, visit); }
  void for_each(const auto& visit) const { for_each(*this, visit); }

 private:
  static void for_each(auto& layer, const auto& visit) {
    visit("Wq", layer.Wq);
    visit("Wk", layer.Wk);
    visit("Wv", layer.Wv);
    visit("Wo", layer.Wo);
    visit("W1", layer.W1);
    visit("W2", layer.W2);
    if (layer.Wg) visit("Wg", *layer.Wg);
  }
};

enum class WeightRole { embedding, positions, in_layer, head };

/// A weight matrix of a GPT and its role. P is Parameter<T> or const Parameter<T>.
template <class P>
struct GptWeight {
  P* parameter;
  WeightRole role;
  std::uint64_t layer = 0;  // of a matrix inside a layer
  std::string block = {};   // "Wq"; else "embedding", "positions" or "head"
};

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
  Gpt(const GptShape& shape, GptStart start, const Streams& streams);

  const GptShape& shape() const { return shape_; }
  /// All weight matrices in file order: embedding, positions, those of each layer, head.
  std::vector<GptWeight<Parameter<T>>> weights() { return weights_of(*this); }
  std::vector<GptWeight<const Parameter<T>>> weights() const { return weights_of(*this); }
  GptLayer<T>& layer(std::uint64_t l) { return layers_.at(l); }
  const GptLayer<T>& layer(std::uint64_t l) const { return layers_.at(l); }
  Parameter<T>& embedding() { return embedding_; }
  const Parameter<T>& embedding() const { return embedding_; }
  /// Learned positions (d, T); without them null.
  const Parameter<T>* positions() const { return positions_ ? &*positions_ : nullptr; }
  Parameter<T>& head() { return head_; }
  const Parameter<T>& head() const { return head_; }

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
  template <class Model>
  static auto weights_of(Model& model) {
    using P = std::remove_reference_t<decltype(model.head_)>;
    using Weight = GptWeight<std::conditional_t<std::is_const_v<Model>, const P, P>>;
    std::vector<Weight> out = {{&model.embedding_, WeightRole::embedding, 0, "embedding"}};
    if (model.positions_)
      out.push_back({&*model.positions_, WeightRole::positions, 0, "positions"});
    for (std::uint64_t l = 0; l < model.layers_.size(); ++l) {
      model.layers_[l].for_each([&](const char* block, auto& parameter) {
        out.push_back({&parameter, WeightRole::in_layer, l, block});
      });
    }
    out.push_back({&model.head_, WeightRole::head, 0, "head"});
    return out;
  }
  void embed(const TokenBatch& batch, GptPass<T>& pass) const;
  void attend(const GptLayer<T>& layer, GptLayerPass<T>& pass) const;
  void feed_forward(const GptLayer<T>& layer, GptLayerPass<T>& pass, arma::Mat<T>& out) const;
  void backward_layer(GptLayer<T>& layer, GptLayerPass<T>& pass, arma::Mat<T>& dx);
  void clear_gradients();
  void backward_part(const TokenBatch& part, GptPass<T>& pass);
  void embed_backward(const TokenBatch& batch, const GptPass<T>& pass, const arma::Mat<T>& dx);

  GptShape shape_;
  Attention<T> attention_;
  Parameter<T> embedding_, head_;
  std::optional<Parameter<T>> positions_;
  std::vector<GptLayer<T>> layers_;
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
