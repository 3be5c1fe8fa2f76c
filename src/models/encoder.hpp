// The encoders BERT and ALBERT: post-norm blocks with biases and an output projection, and the embeddings that feed them.
#pragma once

#include "models/block.hpp"

namespace ranklab {

template <class T>
std::unique_ptr<Block<T>> make_encoder_block(const ModelSpec& spec, Tensors<T>& tensors);

/// The embedding that enters the first block: BERT: LN(word + type + position), ALBERT: that in `embedding` dimensions, mapped
/// to d. Throws Failure for more ids than published weights have positions.
template <class T>
arma::Mat<T> encoder_embedding(const ModelSpec& spec, Tensors<T>& tensors, const std::vector<std::uint32_t>& ids);

}  // namespace ranklab
