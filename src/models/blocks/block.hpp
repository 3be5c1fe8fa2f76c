// One block of a sequence model, at one depth: its weights, and what it does to the state.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <tuple>
#include <vector>

#include "models/blocks/model_spec.hpp"
#include "models/blocks/norms.hpp"
#include "models/blocks/tensors.hpp"

namespace ranklab {

template <class T>
class Block {
 public:
  virtual ~Block() = default;
  /// Replaces the state by the block's output; lambda multiplies the skip ([LambdaSkip] Definition 3.1). Safe to call from
  /// several threads. Entries may overflow to infinity: the caller looks.
  virtual void forward(State<T>& state, double lambda) const = 0;
};

/// Inside a post-norm block: the heads' P' (N, N), and the outputs of the four steps of [Shallow] Algorithm 1: attention and skip,
/// norm, feed-forward net and skip, norm. A step that the spec leaves out repeats the one before; the last is the block's output.
template <class T>
struct BlockSteps {
  std::vector<arma::Mat<T>> P;
  std::array<arma::Mat<T>, 4> Y;
};

template <class T>
class SteppedBlock : public Block<T> {
 public:
  /// Of X (d, N); lambda as in forward.
  virtual BlockSteps<T> steps(const arma::Mat<T>& X, double lambda) const = 0;
};

/// Makes the block of a settled spec from tensors that are named as its file says.
template <class T>
using MakeBlock = std::unique_ptr<Block<T>> (*)(const ModelSpec& spec, Tensors<T>& tensors);

/// The embedding (d, N) of token ids; encoders can drop of it. Throws Failure for more ids than published weights have positions.
template <class T>
using Embed = arma::Mat<T> (*)(const ModelSpec& spec, Tensors<T>& tensors, const std::vector<std::uint32_t>& ids, Dropout* dropout);

/// What a model's row holds to build it: one function for each type of numbers, to be had by `std::get<MakeBlock<T>>`.
struct BlockMakers {
  std::tuple<MakeBlock<float>, MakeBlock<double>> block;
  std::tuple<Embed<float>, Embed<double>> embed;  // null: a column of the drawn table `embedding` for each id
};

/// Makers of blocks of the class B, which is built from a spec and tensors.
template <template <class> class B>
std::shared_ptr<const BlockMakers> makers_of(Embed<float> embed_single = nullptr, Embed<double> embed_double = nullptr) {
  return std::make_shared<BlockMakers>(
      BlockMakers{{[](const ModelSpec& spec, Tensors<float>& tensors) -> std::unique_ptr<Block<float>> {
                     return std::make_unique<B<float>>(spec, tensors);
                   },
                   [](const ModelSpec& spec, Tensors<double>& tensors) -> std::unique_ptr<Block<double>> {
                     return std::make_unique<B<double>>(spec, tensors);
                   }},
                  {embed_single, embed_double}});
}

}  // namespace ranklab
