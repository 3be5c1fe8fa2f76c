// A model of sequences with lambda-skip connections: tokens in, blocks, a readout; forward and backward.
//
// Legend: d dim, T length of a sequence, B sequences, N = B T tokens, L layers, V vocabulary, p numbers of a token.
//   R_0 = E[id] or W_e x + b_e                  [+ P[t], learned; attention alone has them]
//   R_l = block l of R_(l-1)                    skip_block.hpp
//   h   = norm(R_L) with blocks of `pre`, R_L with those of `post`
//   logits = E' h at the tokens asked about, or W_h mean_t(h) + b_h, one for each sequence
//
// Source: [LambdaSkip] Sections 5 and A.14, and the models that it names: zoology's for recall, with state-space models in place of
// attention; every choice that the paper leaves open is a field here.
#pragma once

#include <armadillo>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "training/skip_block.hpp"

namespace ranklab {

enum class MixerKind { attention, linear_attention, mamba2, s4d };

struct SequenceShape : SkipBlockShape {
  MixerKind mixer = MixerKind::attention;
  std::uint64_t layers = 2, length = 32;
  std::uint64_t heads = 1;        // of attention
  bool causal = true;             // of both attentions; state-space models always are
  std::uint64_t inputs = 0;       // p; 0: tokens are ids
  std::uint64_t vocabulary = 64;  // V, of ids
  std::uint64_t classes = 0;      // of sequences; 0: the next token, or a token's answer, from the vocabulary

  bool has_positions() const { return mixer == MixerKind::attention || mixer == MixerKind::linear_attention; }
};

/// The tokens of B sequences, and what is asked about them.
template <class T>
struct SequenceBatch {
  std::vector<std::uint32_t> ids;       // (N), or
  arma::Mat<T> values;                  // (p, N)
  std::vector<std::uint64_t> labelled;  // columns that are asked about, where tokens are; empty: all
  std::vector<std::uint32_t> targets;   // one for each of these, or for each sequence
};

template <class T>
class SequenceModel {
 public:
  SequenceModel(const SequenceShape& shape, const InitialWeights& initial);
  SequenceModel(const SequenceModel&) = delete;

  const SequenceShape& shape() const { return shape_; }
  /// In a fixed order; they live as long as the model.
  const std::vector<Parameter<T>*>& parameters() const { return parameters_; }
  /// The parameters of one block, and those of its mixer among them.
  std::vector<Parameter<T>*> of_block(std::uint64_t l) { return blocks_.at(l).parameters(); }
  std::vector<Parameter<T>*> of_mixer(std::uint64_t l) { return blocks_.at(l).mixer().parameters(); }
  double lambda(std::uint64_t l) const { return blocks_.at(l).lambda(); }
  /// Throws std::logic_error where there is no such parameter.
  const Parameter<T>& parameter(std::string_view name) const;
  /// Takes over the weights of a model of the same shape.
  template <class U>
  void take_weights(const SequenceModel<U>& from);

  /// As far as logits() (classes, cases), R_0 ... R_L.
  void forward(const SequenceBatch<T>& batch);
  const arma::Mat<T>& logits() const { return logits_; }
  /// R_l (d, N) of the last forward pass; l up to L.
  const arma::Mat<T>& stream(std::uint64_t l) const { return streams_.at(l); }
  /// h (d, N), what is read out.
  const arma::Mat<T>& read_out() const { return final_norm_ ? final_ : streams_.back(); }
  /// The mean cross-entropy in nats of the logits, which are overwritten.
  double loss(const SequenceBatch<T>& batch, bool gradient);
  /// The gradients of all parameters; after forward() and loss() with gradient.
  void backward(const SequenceBatch<T>& batch);

 private:
  void embed(const SequenceBatch<T>& batch);
  void embed_backward(const SequenceBatch<T>& batch);
  void read(const SequenceBatch<T>& batch);
  void read_backward(const SequenceBatch<T>& batch);

  SequenceShape shape_;
  std::optional<Parameter<T>> embedding_, positions_, input_bias_;  // embedding: (d, V), or W_e (d, p)
  std::vector<SkipBlock<T>> blocks_;
  std::optional<AffineNorm<T>> final_norm_;
  std::optional<Parameter<T>> head_, head_bias_;
  std::vector<Parameter<T>*> parameters_;

  std::vector<arma::Mat<T>> streams_;   // R_0 ... R_L
  arma::Mat<T> final_, read_, logits_;  // h; its columns, or means, that are asked about
  arma::Mat<T> dread_, dh_, dR_;
};

/// Floating-point operations of one forward pass over N tokens, of which `asked` are read out; a training step takes three times as
/// many.
double sequence_flops(const SequenceShape& shape, double tokens, double asked);
/// Numbers that a model and a pass over N tokens keep.
double sequence_numbers(const SequenceShape& shape, double tokens, double asked);

}  // namespace ranklab
