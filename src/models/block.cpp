#include "models/block.hpp"

#include <cmath>

#include "models/bare_block.hpp"
#include "models/encoder.hpp"
#include "models/mamba2.hpp"
#include "models/s4d.hpp"
#include "models/transformer.hpp"

namespace ranklab {
namespace {

std::vector<std::uint32_t> uniform_ids(const ModelSpec& spec, const Trial& trial) {
  std::vector<double> draws(spec.tokens);
  trial.stream("tokens").fill_uniform(draws);
  std::vector<std::uint32_t> ids;
  for (const double u : draws) ids.push_back(static_cast<std::uint32_t>(u * static_cast<double>(spec.vocabulary)));
  return ids;
}

template <class T>
arma::Mat<T> gaussian_input(const ModelSpec& spec, Tensors<T>& tensors) {
  return tensors.matrix("X", spec.dim, spec.tokens, Start::normal(1.0));
}

// Tokens sqrt(d) v + width g: entries of the size of the Gaussian input's, directions around one unit vector v.
template <class T>
arma::Mat<T> cone_input(const ModelSpec& spec, Tensors<T>& tensors) {
  arma::Col<T> axis = tensors.vector("cone.axis", spec.dim, Start::normal(1.0));
  axis *= static_cast<T>(std::sqrt(static_cast<double>(spec.dim))) / arma::norm(axis);
  arma::Mat<T> X = static_cast<T>(spec.cone_width) * gaussian_input(spec, tensors);
  X.each_col() += axis;
  return X;
}

template <class T>
arma::Mat<T> token_input(const ModelSpec& spec, const Trial& trial, Tensors<T>& tensors) {
  const std::vector<std::uint32_t> ids = uniform_ids(spec, trial);
  if (spec.is_encoder()) return encoder_embedding(spec, tensors, ids);
  // Mamba-2's own; other models have no published embedding.
  const double std = spec.model == "mamba2" ? 0.02 : 1.0;
  return tensors.columns("embedding", spec.dim, spec.vocabulary, ids, Start::normal(std));
}

}  // namespace

template <class T>
std::unique_ptr<Block<T>> make_block(const ModelSpec& spec, Tensors<T>& tensors) {
  if (spec.is_bare()) return make_bare_block(spec, tensors);
  if (spec.is_encoder()) return make_encoder_block(spec, tensors);
  if (spec.model == "s4d") return make_s4d_block(spec, tensors);
  if (spec.model == "mamba2") return make_mamba2_block(spec, tensors);
  return make_transformer_block(spec, tensors);
}

template <class T>
DrawnTensors<T> block_tensors(const ModelSpec& spec, const Trial& trial, std::uint64_t layer) {
  return {trial, "layer" + std::to_string(spec.shares_weights() ? 0 : layer) + ".", spec.weight_scale};
}

template <class T>
State<T> draw_input(const ModelSpec& spec, const Trial& trial) {
  DrawnTensors<T> tensors(trial, "");
  State<T> state;
  if (spec.input == "tokens") state.Y = token_input(spec, trial, tensors);
  if (spec.input == "cone") state.Y = cone_input(spec, tensors);
  if (spec.input == "gaussian") state.Y = gaussian_input(spec, tensors);
  if (spec.is_bare() && spec.norm == "rows") state.degenerate_rows += normalise_rows(state.Y);
  return state;
}

template std::unique_ptr<Block<float>> make_block(const ModelSpec&, Tensors<float>&);
template std::unique_ptr<Block<double>> make_block(const ModelSpec&, Tensors<double>&);
template DrawnTensors<float> block_tensors(const ModelSpec&, const Trial&, std::uint64_t);
template DrawnTensors<double> block_tensors(const ModelSpec&, const Trial&, std::uint64_t);
template State<float> draw_input(const ModelSpec&, const Trial&);
template State<double> draw_input(const ModelSpec&, const Trial&);

}  // namespace ranklab
