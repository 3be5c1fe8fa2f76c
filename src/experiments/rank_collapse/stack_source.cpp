#include "experiments/rank_collapse/stack_source.hpp"

#include <cmath>

#include "core/error.hpp"
#include "core/text.hpp"
#include "models/tokens.hpp"
#include "nn/checkpoints/loaded_tensors.hpp"

namespace ranklab {
namespace {

std::vector<std::uint32_t> given_ids(const ModelSpec& spec, std::uint64_t row) {
  std::vector<std::uint32_t> ids = spec.sequences->at(row);
  if (ids.size() > spec.tokens) ids.resize(spec.tokens);
  for (const std::uint32_t id : ids) {
    if (id < spec.vocabulary) continue;
    throw Failure(
        say("{}token id {} of sequence {} is not in the vocabulary of {}, whose ids are 0 to {}",
            spec.tokens_file.empty() ? "" : printable(spec.tokens_file) + ": ", id, row + 1,
            spec.vocabulary, spec.vocabulary - 1));
  }
  return ids;
}

std::vector<std::uint32_t> drawn_ids(const ModelSpec& spec, const Trial& trial) {
  Stream stream = trial.stream("tokens");
  if (spec.zipf > 0) return ZipfLaw(spec.vocabulary, spec.zipf).draw(spec.tokens, stream);
  return draw_ids(spec.vocabulary, spec.tokens, stream);
}

template <class T>
arma::Mat<T> gaussian_input(const ModelSpec& spec, Tensors<T>& tensors) {
  return tensors.matrix("X", spec.dim, spec.tokens, Start::normal(1.0));
}

// Tokens sqrt(d) v + width g, whose directions lie around one unit vector v. The entries have about
// the same size as those of the Gaussian input.
template <class T>
arma::Mat<T> cone_input(const ModelSpec& spec, Tensors<T>& tensors) {
  arma::Col<T> axis = tensors.vector("cone.axis", spec.dim, Start::normal(1.0));
  axis *= static_cast<T>(std::sqrt(static_cast<double>(spec.dim))) / arma::norm(axis);
  arma::Mat<T> X = static_cast<T>(spec.cone_width) * gaussian_input(spec, tensors);
  X.each_col() += axis;
  return X;
}

template <class T>
arma::Mat<T> token_input(const ModelSpec& spec, const Trial& trial, Tensors<T>& tensors,
                         Dropout* dropout) {
  return embed_tokens(
      spec, tensors,
      spec.sequences != nullptr ? given_ids(spec, trial.index()) : drawn_ids(spec, trial), dropout);
}

}  // namespace

template <class T>
std::unique_ptr<Tensors<T>> tensors_of_layer(const ModelSpec& spec, const Trial& trial,
                                             std::uint64_t layer) {
  if (spec.checkpoint != nullptr)
    return std::make_unique<LoadedTensors<T>>(spec.checkpoint, prefix_of_layer(spec, layer));
  return std::make_unique<DrawnTensors<T>>(block_tensors<T>(spec, trial, layer));
}

template <class T>
std::unique_ptr<Tensors<T>> tensors_of_embedding(const ModelSpec& spec, const Trial& trial) {
  if (spec.checkpoint != nullptr) return std::make_unique<LoadedTensors<T>>(spec.checkpoint, "");
  return std::make_unique<DrawnTensors<T>>(trial, "");
}

template <class T>
State<T> draw_input(const ModelSpec& spec, const Trial& trial, double dropout) {
  DrawnTensors<T> tensors(trial, "");
  State<T> state;
  if (dropout > 0) state.dropout.emplace(dropout, trial.stream("dropout"));
  if (spec.input == "tokens") {
    state.Y = token_input<T>(spec, trial, *tensors_of_embedding<T>(spec, trial),
                             state.dropout ? &*state.dropout : nullptr);
  }
  if (spec.input == "cone") state.Y = cone_input(spec, tensors);
  if (spec.input == "gaussian") state.Y = gaussian_input(spec, tensors);
  if (spec.row().bare && spec.norm == "rows") state.degenerate_rows += normalize_rows(state.Y);
  return state;
}

template std::unique_ptr<Tensors<float>> tensors_of_layer(const ModelSpec&, const Trial&,
                                                          std::uint64_t);
template std::unique_ptr<Tensors<double>> tensors_of_layer(const ModelSpec&, const Trial&,
                                                           std::uint64_t);
template std::unique_ptr<Tensors<float>> tensors_of_embedding(const ModelSpec&, const Trial&);
template std::unique_ptr<Tensors<double>> tensors_of_embedding(const ModelSpec&, const Trial&);
template State<float> draw_input(const ModelSpec&, const Trial&, double);
template State<double> draw_input(const ModelSpec&, const Trial&, double);

}  // namespace ranklab
