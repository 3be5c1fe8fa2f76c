// A stack of blocks: its input, and the block and the tensors of each layer.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/blocks/block.hpp"

namespace ranklab {

/// The block of a settled spec, built from tensors named as its file says.
template <class T>
std::unique_ptr<Block<T>> make_block(const ModelSpec& spec, Tensors<T>& tensors);

/// The same for a model whose blocks are of this kind; throws std::bad_cast for others.
template <template <class> class Kind, class T>
std::unique_ptr<Kind<T>> make_block_of(const ModelSpec& spec, Tensors<T>& tensors) {
  std::unique_ptr<Block<T>> block = make_block(spec, tensors);
  std::unique_ptr<Kind<T>> kind(&dynamic_cast<Kind<T>&>(*block));
  block.release();
  return kind;
}

/// The tensors of block `layer` (from 0) in one trial: all from `layer0.` where the weights are shared.
template <class T>
DrawnTensors<T> block_tensors(const ModelSpec& spec, const Trial& trial, std::uint64_t layer);

/// The same, or of the spec's checkpoint where it has one. `trial` must outlive them. Building from them throws Failure as
/// LoadedTensors does.
template <class T>
std::unique_ptr<Tensors<T>> tensors_of_layer(const ModelSpec& spec, const Trial& trial, std::uint64_t layer);

/// The embedding (d, N) of token ids, from the tensors of no layer. Throws Failure for more ids than published weights have
/// positions.
template <class T>
arma::Mat<T> embed_tokens(const ModelSpec& spec, Tensors<T>& tensors, const std::vector<std::uint32_t>& ids);

/// The state that enters the first block: state 0 of every depth series. Bare stacks with the norm `rows` normalise it too.
/// Tokens are the trial's own of given sequences, else drawn; their embedding is the checkpoint's, else drawn. Throws Failure for
/// a given id that is not in the vocabulary, and for a sequence longer than published weights have positions.
template <class T>
State<T> draw_input(const ModelSpec& spec, const Trial& trial);

}  // namespace ranklab
