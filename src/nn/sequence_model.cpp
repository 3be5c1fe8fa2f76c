#include "nn/sequence_model.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "core/real.hpp"
#include "linalg/product.hpp"
#include "nn/layers/cross_entropy.hpp"
#include "nn/layers/linear.hpp"
#include "nn/mixers.hpp"
#include "nn/pieces.hpp"

namespace ranklab {
namespace {

template <class T>
std::unique_ptr<Mixer<T>> make_mixer(const SequenceShape& shape, const InitialWeights& initial,
                                     RelativeBiases<T>* relative) {
  return std::get<MakeMixer<T>>(mixer_row(shape.mixer).make)(shape, initial, relative);
}

/// Initial learned positions have the scale of what they are added to: N(0, 1) for images, the law
/// of the embedding table for ids.
template <class T>
Parameter<T> make_positions(const SequenceShape& shape, const InitialWeights& initial) {
  if (shape.inputs == 0 || initial.scheme() == Initialization::small)
    return initial.table<T>("positions", shape.dim, shape.length);
  return initial.with_decay<T>("positions", shape.dim, shape.length, EntryLaw::normal(1));
}

}  // namespace

template <class T>
SequenceModel<T>::SequenceModel(const SequenceShape& shape, const InitialWeights& initial)
    : shape_(shape) {
  const std::uint64_t d = shape.dim;
  if (shape.inputs > 0 && shape.classes == 0)
    throw std::logic_error("sequences of numbers need classes");
  if (shape.class_token && shape.inputs == 0)
    throw std::logic_error("a class token needs sequences of numbers");
  if (const auto& removal = shape.de_escalation) {
    if (removal->length != shape.length)
      throw std::logic_error("de-escalation needs the model's sequence length");
    if (!shape.post && removal->at != DeEscalation::At::branch)
      throw std::logic_error("in pre-norm blocks, de-escalation is only for the branches");
  }
  if (shape.relative && !(shape.causal && d % 2 == 0))
    throw std::logic_error("relative positions need causal attention and an even width");
  // [Shallow] Algorithm 1 does not specify the maps into and out of the residual stream.
  const InitialWeights outside =
      initial.scheme() == Initialization::alg1 ? initial.by(Initialization::torch) : initial;
  if (shape.inputs == 0) {
    embedding_ = initial.table<T>("embedding", d, shape.vocabulary);
  } else {
    embedding_ = outside.map<T>("embedding", d, shape.inputs);
    input_bias_ = outside.bias<T>("embedding.bias", d, shape.inputs);
  }
  if (shape.class_token)
    class_token_ = initial.with_decay<T>("class_token", d, 1, EntryLaw::normal(1));
  if (shape.has_positions()) positions_ = make_positions<T>(shape, initial);
  if (shape.relative) relative_ = std::make_unique<RelativeBiases<T>>(d, initial.of("relative"));
  blocks_.reserve(shape.layers);
  for (std::uint64_t l = 0; l < shape.layers; ++l) {
    const InitialWeights of_layer = initial.of("layer" + std::to_string(l));
    blocks_.emplace_back(
        shape, make_mixer<T>(shape, of_layer.of(shape.mixer_name), relative_.get()), of_layer);
  }
  if (shape.has_final_norm()) final_norm_.emplace(shape.norms(), d, initial.of("norm"));
  if (shape.classes > 0) {
    head_ = outside.map<T>("head", shape.classes, d);
    head_bias_ = outside.bias<T>("head.bias", shape.classes, d);
  } else if (shape.untied_head) {
    head_ = outside.head<T>("head", shape.vocabulary, d);
  }
  if (shape.output_bias)
    output_bias_ =
        initial.without_decay<T>("output.bias", shape.vocabulary, 1, EntryLaw::constant(0));
  const auto add = [&](std::optional<Parameter<T>>& parameter) {
    if (parameter) parameters_.push_back(&*parameter);
  };
  for (auto* parameter : {&embedding_, &input_bias_, &class_token_, &positions_}) add(*parameter);
  if (relative_) parameters_.insert(parameters_.end(), {&relative_->u, &relative_->v});
  for (SkipBlock<T>& block : blocks_) {
    for (Parameter<T>* parameter : block.parameters()) parameters_.push_back(parameter);
  }
  if (final_norm_) {
    for (Parameter<T>* parameter : final_norm_->parameters()) parameters_.push_back(parameter);
  }
  for (auto* parameter : {&head_, &head_bias_, &output_bias_}) add(*parameter);
}

template <class T>
const Parameter<T>& SequenceModel<T>::parameter(std::string_view name) const {
  for (const Parameter<T>* parameter : parameters_) {
    if (parameter->name == name) return *parameter;
  }
  throw std::logic_error("the model has no parameter " + std::string(name));
}

template <class T>
template <class U>
void SequenceModel<T>::copy_weights(const SequenceModel<U>& from) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    parameters_[i]->W = arma::conv_to<arma::Mat<T>>::from(from.parameters().at(i)->W);
  }
}

// Embedding ---------------------------------------------------------------------------------------

template <class T>
void SequenceModel<T>::embed(const SequenceBatch<T>& batch) {
  arma::Mat<T>& R = streams_.front();
  if (input_bias_) {
    arma::Mat<T>& out = class_token_ ? patches_ : R;
    linear(*embedding_, batch.values, out);
    add_bias(*input_bias_, out);
  } else if (shape_.embedding_norm) {
    look_up(embedding_->W, batch.ids, embedded_);
    normalize(shape_.norm, shape_.norm_epsilon, embedded_, normed_);
    R = normed_.A;
  } else {
    look_up(embedding_->W, batch.ids, R);
    if (shape_.scaled_table) R *= table_scale();
  }
  if (class_token_) {
    const arma::uword others = shape_.length - 1, sequences = patches_.n_cols / others;
    R.set_size(shape_.dim, sequences * shape_.length);
    for (arma::uword b = 0; b < sequences; ++b) {
      const arma::uword first = b * shape_.length;
      R.col(first) = class_token_->W;
      R.cols(first + 1, first + others) = patches_.cols(b * others, (b + 1) * others - 1);
    }
  }
  if (!positions_) return;
  for (arma::uword n = 0; n < R.n_cols; ++n) R.col(n) += positions_->W.col(n % shape_.length);
}

template <class T>
void SequenceModel<T>::embed_backward(const SequenceBatch<T>& batch) {
  if (positions_) {
    for (arma::uword n = 0; n < dR_.n_cols; ++n) positions_->G.col(n % shape_.length) += dR_.col(n);
  }
  if (class_token_) {
    const arma::uword others = shape_.length - 1;
    for (arma::uword b = 0, first = 0; first < dR_.n_cols; ++b, first += shape_.length) {
      class_token_->G += dR_.col(first);
      patches_.cols(b * others, (b + 1) * others - 1) = dR_.cols(first + 1, first + others);
    }
  }
  if (input_bias_) {
    const arma::Mat<T>& gradient = class_token_ ? patches_ : dR_;
    linear_backward_weights(*embedding_, batch.values, gradient);
    bias_backward(*input_bias_, gradient);
  } else if (shape_.embedding_norm) {
    embedded_.zeros();
    normalize_backward(shape_.norm, normed_, dR_, embedded_);
    look_up_backward(batch.ids, embedded_, embedding_->G);
  } else {
    const T scale = shape_.scaled_table ? table_scale() : T(1);
    for (arma::uword n = 0; n < batch.ids.size(); ++n)
      embedding_->G.col(batch.ids[n]) += scale * dR_.col(n);
  }
}

// Readout -----------------------------------------------------------------------------------------

/// The columns of h that are read out. Empty: all, or the mean of all.
template <class T>
std::vector<std::uint64_t> SequenceModel<T>::columns_read(const SequenceBatch<T>& piece) const {
  if (!class_token_) return piece.labeled;
  std::vector<std::uint64_t> firsts(piece.targets.size());
  for (std::size_t b = 0; b < firsts.size(); ++b) firsts[b] = b * shape_.length;
  return firsts;
}

template <class T>
void SequenceModel<T>::read() {
  const arma::Mat<T>& h = read_out();
  const arma::uword length = shape_.length;
  if (reads_mean()) {
    read_.set_size(shape_.dim, h.n_cols / length);
    for (arma::uword b = 0; b < read_.n_cols; ++b)
      read_.col(b) = arma::mean(h.cols(b * length, (b + 1) * length - 1), 1);
  } else if (!queried_only_ && !columns_.empty()) {
    look_up(h, columns_, read_);
  }
  if (head_) {
    linear(*head_, readout_input(), logits_);
    if (head_bias_) add_bias(*head_bias_, logits_);
  } else {
    linear_backward_inputs(*embedding_, readout_input(), logits_);  // E' h
    if (output_bias_) add_bias(*output_bias_, logits_);
  }
}

/// From the gradient with respect to the logits to dh_. Without a head, embed_backward() follows
/// table_backward(): both add to the gradient of the table.
template <class T>
void SequenceModel<T>::read_backward(Turns& turns) {
  if (head_) {
    turns.take([&] {
      if (head_bias_) bias_backward(*head_bias_, logits_);
      linear_backward_weights(*head_, readout_input(), logits_);
    });
    linear_backward_inputs(*head_, logits_, dread_);
  } else {
    linear(*embedding_, logits_, dread_);
  }
  if (reads_mean()) {
    dread_ /= static_cast<T>(shape_.length);
    dh_.set_size(arma::size(read_out()));
    for (arma::uword n = 0; n < dh_.n_cols; ++n) dh_.col(n) = dread_.col(n / shape_.length);
  } else if (queried_only_ || columns_.empty()) {
    dh_.swap(dread_);
  } else {
    dh_.zeros(arma::size(read_out()));
    look_up_backward(columns_, dread_, dh_);
  }
}

/// The gradients of a readout E' h [+ b].
template <class T>
void SequenceModel<T>::table_backward() {
  if (head_) return;
  if (output_bias_) bias_backward(*output_bias_, logits_);
  linear_backward_weights(*embedding_, logits_, readout_input());
}

// Passes ------------------------------------------------------------------------------------------

namespace {

template <class T>
using Pieces = std::vector<SequenceBatch<T>>;

/// Without pieces that have no targets.
template <class T>
Pieces<T> in_pieces(const SequenceShape& shape, const SequenceBatch<T>& batch) {
  const std::uint64_t inputs = shape.length - (shape.class_token ? 1 : 0);
  const std::size_t sequences =
      (batch.ids.empty() ? batch.values.n_cols : batch.ids.size()) / inputs;
  Pieces<T> out;
  auto label = batch.labeled.begin();
  for (const auto& [begin, end] : piece_ranges(sequences, shape.length, shape.dim)) {
    const std::size_t first = begin * inputs;
    SequenceBatch<T>& piece = out.emplace_back();
    if (!batch.values.is_empty()) piece.values = batch.values.cols(first, end * inputs - 1);
    if (!batch.ids.empty()) piece.ids = slice(batch.ids, first, end * inputs);
    if (batch.labeled.empty()) {
      const std::uint64_t targets = shape.classes > 0 ? 1 : shape.length;
      piece.targets = slice(batch.targets, begin * targets, end * targets);
      continue;
    }
    // Queried columns are in ascending order.
    const auto last = std::lower_bound(label, batch.labeled.end(), end * inputs);
    piece.targets = slice(batch.targets, static_cast<std::size_t>(label - batch.labeled.begin()),
                          static_cast<std::size_t>(last - batch.labeled.begin()));
    for (; label < last; ++label) piece.labeled.push_back(*label - first);
  }
  std::erase_if(out, [](const auto& piece) { return piece.targets.empty(); });
  return out;
}

}  // namespace

template <class T>
double SequenceModel<T>::loss_by_pieces(const SequenceBatch<T>& batch, bool gradient,
                                        const SeePart& seen, const PieceRunner& pieces) {
  prepare_mixers();
  if (gradient) clear_gradients();
  const Pieces<T> split = in_pieces(shape_, batch);
  std::vector<double> losses(split.size());
  if (helpers_.size() < split.size()) helpers_.resize(split.size());
  std::vector<SequenceModel*> workers(split.size(), nullptr);
  pieces.run_in_turn(split.size(), [&](std::size_t i, std::size_t worker, Turns& turns) {
    SequenceModel*& model = workers[worker];
    if (worker == 0) {
      model = this;
    } else if (model == nullptr) {
      std::unique_ptr<SequenceModel>& helper = helpers_[worker];
      if (helper == nullptr) {
        helper = std::make_unique<SequenceModel>(
            shape_, InitialWeights(Initialization::zero, Streams(0, 0)));
      }
      helper->share(*this);
      model = helper.get();
    }
    const SequenceBatch<T>& piece = split[i];
    model->forward_piece(piece, false);
    seen(*model, piece, turns);
    losses[i] = cross_entropy(model->logits_, piece.targets, gradient, batch.targets.size());
    if (gradient) model->backward_piece(piece, turns);
  });
  if (gradient) {
    for (SkipBlock<T>& block : blocks_) block.mixer().finish();
  }
  return std::accumulate(losses.begin(), losses.end(), 0.0);
}

/// Uses the parameters of another model of the same shape, which has prepared its mixers and
/// cleared its gradients, and adds to their gradients.
template <class T>
void SequenceModel<T>::share(SequenceModel& of) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) parameters_[i]->share(*of.parameters_[i]);
  for (std::size_t l = 0; l < blocks_.size(); ++l) blocks_[l].mixer().share(of.blocks_[l].mixer());
}

template <class T>
void SequenceModel<T>::prepare_mixers() {
  for (SkipBlock<T>& block : blocks_) block.mixer().prepare();
}

template <class T>
void SequenceModel<T>::forward(const SequenceBatch<T>& batch) {
  prepare_mixers();
  forward_piece(batch, true);
}

template <class T>
void SequenceModel<T>::forward_from(std::uint64_t first, bool after_mixer) {
  prepare_mixers();
  continue_from(first, after_mixer);
}

template <class T>
void SequenceModel<T>::forward_piece(const SequenceBatch<T>& piece, bool all_columns) {
  columns_ = columns_read(piece);
  queried_only_ = !all_columns && !columns_.empty() && !shape_.de_escalation && shape_.layers > 0;
  streams_.resize(shape_.layers + 1);
  embed(piece);
  continue_from(0, false);
}

template <class T>
void SequenceModel<T>::continue_from(std::uint64_t first, bool after_mixer) {
  for (std::uint64_t l = first; l < shape_.layers; ++l) {
    if (l == first && after_mixer) {
      blocks_[l].forward_net(streams_[l + 1]);
    } else {
      blocks_[l].forward(streams_[l], streams_[l + 1], output_columns(l));
    }
  }
  if (final_norm_) final_norm_->forward(streams_.back(), final_);
  read();
}

template <class T>
double SequenceModel<T>::loss(const SequenceBatch<T>& batch, bool gradient) {
  return cross_entropy(logits_, batch.targets, gradient);
}

template <class T>
void SequenceModel<T>::clear_gradients() {
  for (Parameter<T>* parameter : parameters_) parameter->clear_gradient();
}

template <class T>
void SequenceModel<T>::backward(const SequenceBatch<T>& batch) {
  clear_gradients();
  Turns alone;
  backward_piece(batch, alone);
  for (SkipBlock<T>& block : blocks_) block.mixer().finish();
}

template <class T>
void SequenceModel<T>::backward_piece(const SequenceBatch<T>& piece, Turns& turns) {
  read_backward(turns);
  if (final_norm_) {
    dR_.zeros(dh_.n_rows, dh_.n_cols);
    turns.take([&] { final_norm_->backward(dh_, dR_); });
  } else {
    dR_ = dh_;
  }
  const auto blocks_backward = [&](Turns& of_blocks) {
    for (std::uint64_t l = shape_.layers; l-- > 0;)
      blocks_[l].backward(streams_[l], dR_, output_columns(l), of_blocks);
  };
  if (relative_) {
    // All blocks add to the gradients of u and v.
    Turns within;
    turns.take([&] { blocks_backward(within); });
  } else {
    blocks_backward(turns);
  }
  turns.take([&] {
    table_backward();
    embed_backward(piece);
  });
}

template class SequenceModel<float>;
template class SequenceModel<double>;
template void SequenceModel<double>::copy_weights(const SequenceModel<float>&);
template void SequenceModel<double>::copy_weights(const SequenceModel<double>&);

// Sizes -------------------------------------------------------------------------------------------

namespace {

double maps_of_net(const SequenceShape& shape) {
  return shape.activation && shape.activation->gated ? 3 : 2;
}

/// Whether the readout needs all tokens of the last block.
bool reads_all(const SequenceShape& shape) {
  return shape.de_escalation || (shape.classes > 0 && !shape.class_token);
}

}  // namespace

double sequence_flops(const SequenceShape& shape, double tokens, double queried) {
  const MixerCost mixer = mixer_row(shape.mixer).cost(shape);
  const double d = real(shape.dim),
               outputs = real(shape.classes > 0 ? shape.classes : shape.vocabulary),
               fed_forward = tokens * real(shape.layers) -
                             (shape.layers > 0 && !reads_all(shape) ? tokens - queried : 0);
  return 2 * tokens * real(shape.layers) * (mixer.weights + mixer.among_tokens) +
         2 * fed_forward * maps_of_net(shape) * d * real(shape.hidden) + 2 * queried * d * outputs +
         2 * tokens * d * real(shape.inputs);
}

namespace {

double weight_numbers(const SequenceShape& shape) {
  const MixerCost mixer = mixer_row(shape.mixer).cost(shape);
  const double d = real(shape.dim),
               outputs = real(shape.classes > 0 ? shape.classes : shape.vocabulary);
  return real(shape.layers) * (mixer.weights + mixer.further_weights +
                               maps_of_net(shape) * d * real(shape.hidden) + 8 * d) +
         d * (outputs + real(shape.vocabulary) + real(shape.length));
}

/// The stored values of each block with their gradients.
double pass_numbers(const SequenceShape& shape, double tokens, double queried) {
  const MixerCost mixer = mixer_row(shape.mixer).cost(shape);
  const double d = real(shape.dim), w = real(shape.hidden),
               outputs = real(shape.classes > 0 ? shape.classes : shape.vocabulary);
  return tokens * real(shape.layers) * (mixer.kept + 10 * d + 3 * maps_of_net(shape) / 2 * w) +
         4 * tokens * d + 2 * queried * (outputs + d);
}

}  // namespace

double sequence_numbers(const SequenceShape& shape, double tokens, double queried) {
  // Weights, gradients and two moments.
  return 4 * weight_numbers(shape) + pass_numbers(shape, tokens, queried);
}

double sequence_helper_numbers(const SequenceShape& shape, double tokens, double queried) {
  return weight_numbers(shape) + pass_numbers(shape, tokens, queried);
}

}  // namespace ranklab
