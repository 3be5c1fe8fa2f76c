// A sequence model with lambda-skip connections: token embedding, blocks and readout, with forward
// and backward passes.
//
// Legend: d dim, T length of a sequence, B sequences, N = B T tokens, L layers, V vocabulary, p
// numbers of a token.
//   R_0 = E[id], norm(E[id]) or W_e x + b_e   [+ P[t], learned, attention only; a class token comes
//                                             first]
//   R_l = block l of R_(l-1)     skip_block.hpp
//   h   = norm(R_L) with `pre` blocks, R_L with `post` blocks, or as the shape says
//   logits = E' h [+ b] or W_h h at the queried tokens; or W_h mean_t(h) + b_h per sequence; or
//            W_h h_1 + b_h with a class token
//
// Sources: [LambdaSkip] Sections 5 and A.14, and zoology's models for recall, with state-space
// models instead of attention; [Shallow] Section 3: a vision Transformer, and Transformer-XL
// without its memory; [Spectral] Section 2.2: the GPT of gpt.hpp. Choices that the papers leave
// open are fields of SequenceShape.
#pragma once

#include <armadillo>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/pieces_in_turn.hpp"
#include "data/corpus.hpp"
#include "nn/sequence_shape.hpp"

namespace ranklab {

/// The tokens of B sequences, with the queried tokens and their targets.
template <class T>
struct SequenceBatch {
  std::vector<std::uint32_t> ids;      // (N), or
  arma::Mat<T> values;                 // (p, N), or (p, N - B) if a class token comes first
  std::vector<std::uint64_t> labeled;  // queried columns, ascending; empty: all
  std::vector<std::uint32_t> targets;  // one per queried column, or one per sequence
};

/// Every token of the windows is queried for the next one.
template <class T>
SequenceBatch<T> next_token_batch(TokenBatch&& windows) {
  return {.ids = std::move(windows.ids),
          .values = {},
          .labeled = {},
          .targets = std::move(windows.targets)};
}

template <class T>
class SequenceModel {
 public:
  SequenceModel(const SequenceShape& shape, const InitialWeights& initial);
  SequenceModel(const SequenceModel&) = delete;

  const SequenceShape& shape() const { return shape_; }
  /// In a fixed order; valid as long as the model.
  const std::vector<Parameter<T>*>& parameters() const { return parameters_; }
  SkipBlock<T>& block(std::uint64_t l) { return blocks_.at(l); }
  const SkipBlock<T>& block(std::uint64_t l) const { return blocks_.at(l); }
  Parameter<T>& embedding() { return *embedding_; }
  const Parameter<T>& embedding() const { return *embedding_; }
  // Null if the model does not have them. The last has gain and bias.
  Parameter<T>* positions() { return positions_ ? &*positions_ : nullptr; }
  const Parameter<T>* positions() const { return positions_ ? &*positions_ : nullptr; }
  Parameter<T>* head() { return head_ ? &*head_ : nullptr; }
  const Parameter<T>* head() const { return head_ ? &*head_ : nullptr; }
  const AffineNorm<T>* final_norm() const { return final_norm_ ? &*final_norm_ : nullptr; }
  /// The parameters of block l, and those of its mixer.
  std::vector<Parameter<T>*> block_parameters(std::uint64_t l) {
    return blocks_.at(l).parameters();
  }
  std::vector<Parameter<T>*> mixer_parameters(std::uint64_t l) {
    return blocks_.at(l).mixer().parameters();
  }
  double lambda(std::uint64_t l) const { return blocks_.at(l).lambda(); }
  double tau(std::uint64_t l) const { return blocks_.at(l).tau(); }
  /// The output of the mixer of block l, before it is added to the stream R (d, N).
  void branch(std::uint64_t l, const arma::Mat<T>& R, arma::Mat<T>& out) {
    blocks_.at(l).branch(R, out);
  }
  /// Throws std::logic_error if there is no such parameter.
  const Parameter<T>& parameter(std::string_view name) const;
  /// Copies the weights of a model of the same shape.
  template <class U>
  void copy_weights(const SequenceModel<U>& from);

  /// Sees a piece of a batch after its forward pass, of which `model` has the values. What pieces
  /// share may be used only in turns.
  using SeePart =
      std::function<void(const SequenceModel& model, const SequenceBatch<T>& piece, Turns& turns)>;
  /// The mean loss of a batch; with `gradient`, also computes the gradients of all parameters.
  /// Works in pieces that fit the cache, which `pieces` may run on several threads, with the same
  /// result. After the last mixer only queried tokens are
  /// processed: R_L and h hold only these. Pieces without queried tokens are skipped.
  double loss_by_pieces(const SequenceBatch<T>& batch, bool gradient, const SeePart& seen,
                        const PieceRunner& pieces = {});

  // The same in single steps, for the whole batch at once.
  /// Computes R_0 ... R_L and logits() (classes, cases).
  void forward(const SequenceBatch<T>& batch);
  /// The last steps of forward(): from stream(first) on (L: only the readout), or, with
  /// `after_mixer`, from block(first).middle() on. The caller may have changed either.
  void forward_from(std::uint64_t first, bool after_mixer = false);
  const arma::Mat<T>& logits() const { return logits_; }
  /// R_l (d, N) of the last forward pass; l up to L.
  const arma::Mat<T>& stream(std::uint64_t l) const { return streams_.at(l); }
  arma::Mat<T>& stream(std::uint64_t l) { return streams_.at(l); }
  /// h (d, N), the input of the readout.
  const arma::Mat<T>& read_out() const { return final_norm_ ? final_ : streams_.back(); }
  /// The mean cross-entropy of the logits in nats. Overwrites the logits.
  double loss(const SequenceBatch<T>& batch, bool gradient);
  /// Instead of loss(): sets the gradient with respect to the logits, in their shape.
  void set_logit_gradient(const arma::Mat<T>& gradient) { logits_ = gradient; }
  /// Computes the gradients of all parameters. Call after forward() and loss() with gradient.
  void backward(const SequenceBatch<T>& batch);
  /// The gradient with respect to R_0 (d, N), after backward().
  const arma::Mat<T>& input_gradient() const { return dR_; }

 private:
  std::vector<std::uint64_t> columns_read(const SequenceBatch<T>& piece) const;
  void forward_piece(const SequenceBatch<T>& piece, bool all_columns);
  void prepare_mixers();
  void continue_from(std::uint64_t first, bool after_mixer);
  void clear_gradients();
  void backward_piece(const SequenceBatch<T>& piece, Turns& turns);
  void share(SequenceModel& of);
  T table_scale() const { return std::sqrt(static_cast<T>(shape_.dim)); }
  void embed(const SequenceBatch<T>& batch);
  void embed_backward(const SequenceBatch<T>& batch);
  bool reads_mean() const { return shape_.classes > 0 && !class_token_; }
  /// The columns that the readout map multiplies.
  const arma::Mat<T>& readout_input() const {
    return reads_mean() || !(queried_only_ || columns_.empty()) ? read_ : read_out();
  }
  /// The tokens for which block l computes its output; null: all.
  const std::vector<std::uint64_t>* output_columns(std::uint64_t l) const {
    return queried_only_ && l + 1 == shape_.layers ? &columns_ : nullptr;
  }
  void read();
  void read_backward(Turns& turns);
  void table_backward();

  SequenceShape shape_;
  std::optional<Parameter<T>> embedding_;  // (d, V), or W_e (d, p)
  std::optional<Parameter<T>> positions_, input_bias_, class_token_;
  std::unique_ptr<RelativeBiases<T>> relative_;
  std::vector<SkipBlock<T>> blocks_;
  std::optional<AffineNorm<T>> final_norm_;
  std::optional<Parameter<T>> head_, head_bias_, output_bias_;
  std::vector<Parameter<T>*> parameters_;

  std::vector<arma::Mat<T>> streams_;       // R_0 ... R_L
  std::vector<std::uint64_t> columns_;      // columns of h that are read out; empty: all, or means
  bool queried_only_ = false;               // R_L and h hold only these columns
  arma::Mat<T> embedded_;                   // (d, N): E[id], if it is normalized
  NormPass<T> normed_;                      // norm(E[id])
  arma::Mat<T> final_, read_, logits_;      // h; its queried columns or its means
  arma::Mat<T> dread_, dh_, dR_, patches_;  // patches: (d, N - B), the tokens after a class token
  // What each further thread needs for its pieces. They share the parameters of this model.
  std::vector<std::unique_ptr<SequenceModel>> helpers_;
};

/// Floating-point operations of one forward pass over N tokens, of which `queried` are read out. A
/// training step takes three times as many.
double sequence_flops(const SequenceShape& shape, double tokens, double queried);
/// Number of values that a model and a pass over N tokens store.
double sequence_numbers(const SequenceShape& shape, double tokens, double queried);
/// Number of values that a helper of loss_by_pieces() stores. It has weights until it shares those
/// of the model.
double sequence_helper_numbers(const SequenceShape& shape, double tokens, double queried);

}  // namespace ranklab
