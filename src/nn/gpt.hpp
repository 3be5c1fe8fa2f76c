// The GPT of [Spectral] Section 2.2: a configuration of the sequence model, and its weight matrices
// by role.
//
// Legend: V vocabulary, d dim, T context, N tokens, L layers, w width of the feed-forward net.
//   x = norm(E[id])                                   with rotary positions
//   x = E[id] + P[t]                                  with learned ones
//   A  = norm(x); H = attention(Wq A, Wk A, Wv A);    x += Wo H
//   Am = norm(x); S = sigma(W1 Am) [o (Wg Am)];       x += W2 S
//   Af = norm(x); logits = W_head Af                  untied
// Norms have no gain or bias, and maps have no bias.
//
// Source: [Spectral] Section 2.2 and the code of its experiments. Differs from that code: no value
// embeddings, no skips across layers, no cap on logits.
#pragma once

#include <string>
#include <vector>

#include "nn/sequence_model.hpp"

namespace ranklab {

/// The caller sets the sizes: vocabulary, layers, dim, heads, length and hidden. Norms add 1e-6
/// (rms) or 1e-5 (layer).
SequenceShape gpt_shape(const Activation& activation, Norm norm, bool learned_positions,
                        bool qk_norm);

/// Initial weights by name: modded, gauss or gpt2 (Initialization).
InitialWeights gpt_initial_weights(const std::string& name, const SequenceShape& shape,
                                   const Streams& streams);

/// The weights of a layer. P is Parameter<T> or const Parameter<T>.
template <class P>
struct GptLayer {
  P &Wq, &Wk, &Wv, &Wo, &W1, &W2;
  P* Wg;  // null unless the activation is gated
};

template <class T>
GptLayer<Parameter<T>> gpt_layer(SequenceModel<T>& model, std::uint64_t l);
template <class T>
GptLayer<const Parameter<T>> gpt_layer(const SequenceModel<T>& model, std::uint64_t l);

/// Values of the last forward pass in a layer, one token per column.
template <class T>
struct GptActivations {
  const arma::Mat<T>&A, &H, &Am, &S;
  arma::Mat<T> Z;  // W1 Am
};
template <class T>
GptActivations<T> gpt_activations(const SequenceModel<T>& model, std::uint64_t l);

enum class WeightRole { embedding, positions, in_layer, head };

/// A weight matrix and its role.
template <class P>
struct GptWeight {
  P* parameter;
  WeightRole role;
  std::uint64_t layer = 0;  // of a matrix inside a layer
  std::string block = {};   // "Wq"; else "embedding", "positions" or "head"
};

/// The blocks (weight matrices) of a layer in file order: Wq, Wk, Wv, Wo, W1, W2 [, Wg].
std::vector<std::string> gpt_blocks(bool gated);

/// All weight matrices in file order: embedding, positions, those of each layer, head.
template <class T>
std::vector<GptWeight<Parameter<T>>> gpt_weights(SequenceModel<T>& model);
template <class T>
std::vector<GptWeight<const Parameter<T>>> gpt_weights(const SequenceModel<T>& model);

/// Number of parameters.
double gpt_parameters(const SequenceShape& shape);

}  // namespace ranklab
