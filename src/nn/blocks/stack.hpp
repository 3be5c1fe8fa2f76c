// The blocks and the embedding of a stack, from the row of its model.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "nn/blocks/block.hpp"
#include "nn/blocks/model_row.hpp"

namespace ranklab {

/// The block of a resolved spec, built from tensors with the names in the head of its file.
template <class T>
std::unique_ptr<Block<T>> make_block(const ModelSpec& spec, Tensors<T>& tensors) {
  return std::get<MakeBlock<T>>(spec.row().makers->block)(spec, tensors);
}

/// The same for a model whose blocks have this type. Throws std::bad_cast for others.
template <template <class> class Kind, class T>
std::unique_ptr<Kind<T>> make_block_of(const ModelSpec& spec, Tensors<T>& tensors) {
  std::unique_ptr<Block<T>> block = make_block(spec, tensors);
  std::unique_ptr<Kind<T>> kind(&dynamic_cast<Kind<T>&>(*block));
  static_cast<void>(block.release());
  return kind;
}

/// The prefix of the names of a layer's tensors: `layer0.` for all layers if the weights are
/// shared.
inline std::string prefix_of_layer(const ModelSpec& spec, std::uint64_t layer) {
  return "layer" + std::to_string(spec.shares_weights() ? 0 : layer) + ".";
}

/// The tensors of block `layer` (from 0), drawn in one trial.
template <class T>
DrawnTensors<T> block_tensors(const ModelSpec& spec, const Streams& streams, std::uint64_t layer) {
  return {streams, prefix_of_layer(spec, layer), spec.weight_scale};
}

/// The embedding (d, N) of token ids, from the tensors outside of the layers; `dropout` is for
/// encoders. Throws Failure if there are more ids than published weights have positions.
template <class T>
arma::Mat<T> embed_tokens(const ModelSpec& spec, Tensors<T>& tensors,
                          const std::vector<std::uint32_t>& ids, Dropout* dropout = nullptr) {
  const ModelRow& row = spec.row();
  if (const Embed<T> embed = std::get<Embed<T>>(row.makers->embed))
    return embed(spec, tensors, ids, dropout);
  return tensors.columns("embedding", spec.dim, spec.vocabulary, ids,
                         EntryLaw::normal(row.embedding_std));
}

}  // namespace ranklab
