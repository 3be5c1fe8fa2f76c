// The encoders BERT and ALBERT: post-norm blocks with biases and an output projection, and the embeddings that feed them.
#pragma once

#include <array>
#include <vector>

#include "models/blocks/block.hpp"

namespace ranklab {

/// Inside a block: the heads' P' (N, N), and the outputs of the four steps of [Shallow] Algorithm 1: attention and skip, norm,
/// feed-forward net and skip, norm. A step that the spec leaves out repeats the one before; the last is the block's output.
template <class T>
struct BlockSteps {
  std::vector<arma::Mat<T>> P;
  std::array<arma::Mat<T>, 4> Y;
};

template <class T>
class EncoderBlock : public Block<T> {
 public:
  /// Of X (d, N); lambda as in forward.
  virtual BlockSteps<T> steps(const arma::Mat<T>& X, double lambda) const = 0;
};

template <class T>
std::unique_ptr<EncoderBlock<T>> make_encoder_block(const ModelSpec& spec, Tensors<T>& tensors);

/// The embedding that enters the first block: BERT: LN(word + type + position), ALBERT: that in `embedding` dimensions, mapped
/// to d. Throws Failure for more ids than published weights have positions.
template <class T>
arma::Mat<T> encoder_embedding(const ModelSpec& spec, Tensors<T>& tensors, const std::vector<std::uint32_t>& ids);

}  // namespace ranklab
