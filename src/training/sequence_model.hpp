// A model of sequences with lambda-skip connections: tokens in, blocks, a readout; forward and backward.
//
// Legend: d dim, T length of a sequence, B sequences, N = B T tokens, L layers, V vocabulary, p numbers of a token.
//   R_0 = E[id] or W_e x + b_e                  [+ P[t], learned; attention alone has them; after a class token before the others]
//   R_l = block l of R_(l-1)                    skip_block.hpp
//   h   = norm(R_L) with blocks of `pre`, R_L with those of `post`, or as the shape says
//   logits = E' h [+ b] at the tokens asked about, or W_h mean_t(h) + b_h, one for each sequence; W_h h_1 + b_h of a class token
//
// Sources: [LambdaSkip] Sections 5 and A.14, and the models that it names: zoology's for recall, with state-space models in place
// of attention. [Shallow] Section 3: a vision Transformer, and Transformer-XL without its memory. What the papers leave open is a
// field here.
#pragma once

#include <armadillo>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "training/layers/attention_mixer.hpp"
#include "training/layers/skip_block.hpp"

namespace ranklab {

enum class MixerKind { attention, linear_attention, mamba2, s4d };

struct SequenceShape : SkipBlockShape {
  MixerKind mixer = MixerKind::attention;
  std::uint64_t layers = 2, length = 32;
  std::uint64_t heads = 1;         // of attention
  bool causal = true;              // of both attentions; state-space models always are
  AttentionMaps maps;              // of softmax attention
  bool relative = false;           // softmax attention, causal, d even: relative positions, none at the input
  std::uint64_t inputs = 0;        // p; 0: tokens are ids
  std::uint64_t vocabulary = 64;   // V, of ids
  std::uint64_t classes = 0;       // of sequences; 0: the next token, or a token's answer, from the vocabulary
  bool class_token = false;        // of sequences of numbers: T counts one more, learned, first, and read out alone
  std::optional<bool> final_norm;  // else with blocks of `pre`
  bool scaled_table = false;       // of ids: R_0 = sqrt(d) E[id]
  bool output_bias = false;        // of ids: b

  bool has_positions() const { return (mixer == MixerKind::attention && !relative) || mixer == MixerKind::linear_attention; }
  bool has_final_norm() const { return final_norm.value_or(!post); }
};

/// The tokens of B sequences, and what is asked about them.
template <class T>
struct SequenceBatch {
  std::vector<std::uint32_t> ids;       // (N), or
  arma::Mat<T> values;                  // (p, N), or (p, N - B) where a class token comes first
  std::vector<std::uint64_t> labelled;  // columns that are asked about, in order, where tokens are; empty: all
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
  /// What the mixer of block l adds to the stream R (d, N).
  void branch(std::uint64_t l, const arma::Mat<T>& R, arma::Mat<T>& out) { blocks_.at(l).branch(R, out); }
  /// Throws std::logic_error where there is no such parameter.
  const Parameter<T>& parameter(std::string_view name) const;
  /// Takes over the weights of a model of the same shape.
  template <class U>
  void take_weights(const SequenceModel<U>& from);

  /// The mean loss of a batch, and with `gradient` those of all parameters; by parts that stay in cache. seen(part) is called after
  /// the forward pass of each, whose logits are then there. Behind the last mixer only the tokens go on that are asked about: R_L
  /// and h have these alone. Parts without any are left out.
  double loss_by_parts(const SequenceBatch<T>& batch, bool gradient, const std::function<void(const SequenceBatch<T>&)>& seen);

  // One step after the other, all at once.
  /// As far as logits() (classes, cases), R_0 ... R_L.
  void forward(const SequenceBatch<T>& batch);
  const arma::Mat<T>& logits() const { return logits_; }
  /// R_l (d, N) of the last forward pass; l up to L.
  const arma::Mat<T>& stream(std::uint64_t l) const { return streams_.at(l); }
  /// h (d, N), what is read out.
  const arma::Mat<T>& read_out() const { return final_norm_ ? final_ : streams_.back(); }
  /// The mean cross-entropy in nats of the logits, which are overwritten.
  double loss(const SequenceBatch<T>& batch, bool gradient);
  /// In place of loss(): the gradient in the logits, in their shape.
  void take_logit_gradient(const arma::Mat<T>& gradient) { logits_ = gradient; }
  /// The gradients of all parameters; after forward() and loss() with gradient.
  void backward(const SequenceBatch<T>& batch);
  /// That in R_0 (d, N), after backward().
  const arma::Mat<T>& input_gradient() const { return dR_; }

 private:
  std::vector<std::uint64_t> columns_read(const SequenceBatch<T>& part) const;
  void forward_part(const SequenceBatch<T>& part, bool all_columns);
  void clear_gradients();
  void backward_part(const SequenceBatch<T>& part);
  T table_scale() const { return std::sqrt(static_cast<T>(shape_.dim)); }
  void embed(const SequenceBatch<T>& batch);
  void embed_backward(const SequenceBatch<T>& batch);
  bool reads_mean() const { return shape_.classes > 0 && !class_token_; }
  /// What the readout multiplies.
  const arma::Mat<T>& asked() const { return reads_mean() || !(alone_ || columns_.empty()) ? read_ : read_out(); }
  /// The tokens of which block l gives out the stream; null: all.
  const std::vector<std::uint64_t>* only(std::uint64_t l) const { return alone_ && l + 1 == shape_.layers ? &columns_ : nullptr; }
  void read();
  void read_backward();

  SequenceShape shape_;
  std::optional<Parameter<T>> embedding_, positions_, input_bias_, class_token_;  // embedding: (d, V), or W_e (d, p)
  std::unique_ptr<RelativeBiases<T>> relative_;
  std::vector<SkipBlock<T>> blocks_;
  std::optional<AffineNorm<T>> final_norm_;
  std::optional<Parameter<T>> head_, head_bias_, output_bias_;
  std::vector<Parameter<T>*> parameters_;

  std::vector<arma::Mat<T>> streams_;       // R_0 ... R_L
  std::vector<std::uint64_t> columns_;      // of h, that are read out; empty: all, or means
  bool alone_ = false;                      // R_L and h have these columns alone
  arma::Mat<T> final_, read_, logits_;      // h; its columns, or means, that are asked about
  arma::Mat<T> dread_, dh_, dR_, patches_;  // patches: (d, N - B), of numbers after a class token
};

/// Floating-point operations of one forward pass over N tokens, of which `asked` are read out; a training step takes three times as
/// many.
double sequence_flops(const SequenceShape& shape, double tokens, double asked);
/// Numbers that a model and a pass over N tokens keep.
double sequence_numbers(const SequenceShape& shape, double tokens, double asked);

}  // namespace ranklab
