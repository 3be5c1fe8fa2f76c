// GPT-2: pre-norm blocks with causal attention and biases, and the embedding that feeds them.
#pragma once

#include "models/blocks/block.hpp"

namespace ranklab {

template <class T>
std::unique_ptr<Block<T>> make_gpt2_block(const ModelSpec& spec, Tensors<T>& tensors);

/// The embedding that enters the first block: token + position. Throws Failure for more ids than published weights have positions.
template <class T>
arma::Mat<T> gpt2_embedding(const ModelSpec& spec, Tensors<T>& tensors, const std::vector<std::uint32_t>& ids);

}  // namespace ranklab
