#include "nn/gpt.hpp"

#include <cmath>
#include <stdexcept>
#include <utility>

#include "core/real.hpp"
#include "nn/layers/linear.hpp"

namespace ranklab {
namespace {

template <class T>
const AttentionMixer<T>& attention_of(const SequenceModel<T>& model, std::uint64_t l) {
  return dynamic_cast<const AttentionMixer<T>&>(model.block(l).mixer());
}
template <class T>
AttentionMixer<T>& attention_of(SequenceModel<T>& model, std::uint64_t l) {
  return dynamic_cast<AttentionMixer<T>&>(model.block(l).mixer());
}

/// `Model` is a SequenceModel or a const one, P its parameters.
template <class P, class Model>
GptLayer<P> layer_of(Model& model, std::uint64_t l) {
  auto& attention = attention_of(model, l);
  auto& net = *model.block(l).net();
  return {attention.q().W,
          attention.k().W,
          attention.v().W,
          attention.o()->W,
          net.W1,
          net.W2,
          net.Wg ? &*net.Wg : nullptr};
}

template <class P, class Model>
std::vector<GptWeight<P>> weights_of(Model& model) {
  std::vector<GptWeight<P>> out = {{&model.embedding(), WeightRole::embedding, 0, "embedding"}};
  if (P* const positions = model.positions())
    out.push_back({positions, WeightRole::positions, 0, "positions"});
  for (std::uint64_t l = 0; l < model.shape().layers; ++l) {
    const GptLayer<P> layer = layer_of<P>(model, l);
    P* const parameters[] = {&layer.Wq, &layer.Wk, &layer.Wv, &layer.Wo,
                             &layer.W1, &layer.W2, layer.Wg};
    std::size_t i = 0;
    for (std::string& block : gpt_blocks(layer.Wg != nullptr))
      out.push_back({parameters[i++], WeightRole::in_layer, l, std::move(block)});
  }
  out.push_back({model.head(), WeightRole::head, 0, "head"});
  return out;
}

}  // namespace

SequenceShape gpt_shape(const Activation& activation, Norm norm, bool learned_positions,
                        bool qk_norm) {
  SequenceShape shape;
  shape.activation = &activation;
  shape.norm = norm;
  shape.norm_epsilon = norm == Norm::layer ? 1e-5 : 1e-6;
  shape.norm_gains = shape.net_biases = false;
  shape.maps.separate = true;
  shape.rotary = shape.embedding_norm = !learned_positions;
  shape.qk_norm = qk_norm;
  shape.untied_head = true;
  shape.mixer_name = "";
  return shape;
}

InitialWeights gpt_initial_weights(const std::string& name, const SequenceShape& shape,
                                   const Streams& streams) {
  if (name == "modded") return {Initialization::modded, streams};
  if (name == "gauss") return {Initialization::gauss, streams};
  if (name != "gpt2") throw std::logic_error("unknown initial weights: " + name);
  return {Initialization::gpt2, streams, "",
          0.02 / std::sqrt(2.0 * static_cast<double>(shape.layers))};
}

std::vector<std::string> gpt_blocks(bool gated) {
  std::vector<std::string> out = {"Wq", "Wk", "Wv", "Wo", "W1", "W2"};
  if (gated) out.emplace_back("Wg");
  return out;
}

template <class T>
GptLayer<Parameter<T>> gpt_layer(SequenceModel<T>& model, std::uint64_t l) {
  return layer_of<Parameter<T>>(model, l);
}
template <class T>
GptLayer<const Parameter<T>> gpt_layer(const SequenceModel<T>& model, std::uint64_t l) {
  return layer_of<const Parameter<T>>(model, l);
}

template <class T>
GptActivations<T> gpt_activations(const SequenceModel<T>& model, std::uint64_t l) {
  const SkipBlock<T>& block = model.block(l);
  GptActivations<T> out{block.mixer_input(),
                        attention_of(model, l).heads_output(),
                        block.net_input(),
                        block.net_hidden(),
                        {}};
  linear(block.net()->W1, out.Am, out.Z);
  return out;
}

template <class T>
std::vector<GptWeight<Parameter<T>>> gpt_weights(SequenceModel<T>& model) {
  return weights_of<Parameter<T>>(model);
}
template <class T>
std::vector<GptWeight<const Parameter<T>>> gpt_weights(const SequenceModel<T>& model) {
  return weights_of<const Parameter<T>>(model);
}

double gpt_parameters(const SequenceShape& shape) {
  const double d = real(shape.dim), maps = shape.activation->gated ? 3 : 2;
  return real(shape.layers) * (4 * d * d + maps * d * real(shape.hidden)) +
         2 * d * real(shape.vocabulary) + (shape.has_positions() ? d * real(shape.length) : 0);
}

// NOLINTBEGIN(bugprone-macro-parentheses): a type needs no parentheses
#define RANKLAB_GPT(T)                                                                        \
  template GptLayer<Parameter<T>> gpt_layer<T>(SequenceModel<T>&, std::uint64_t);             \
  template GptLayer<const Parameter<T>> gpt_layer<T>(const SequenceModel<T>&, std::uint64_t); \
  template GptActivations<T> gpt_activations<T>(const SequenceModel<T>&, std::uint64_t);      \
  template std::vector<GptWeight<Parameter<T>>> gpt_weights<T>(SequenceModel<T>&);            \
  template std::vector<GptWeight<const Parameter<T>>> gpt_weights<T>(const SequenceModel<T>&);
// NOLINTEND(bugprone-macro-parentheses)
RANKLAB_GPT(float)
RANKLAB_GPT(double)
#undef RANKLAB_GPT

}  // namespace ranklab
