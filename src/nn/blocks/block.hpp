// One block of a sequence model at one depth: its weights and its map of the state.
//
// nn/layers/ has the same attention, feed-forward nets, Mamba-2 and S4D with a backward pass. They
// stay apart because they answer different questions. A layer there keeps what its backward pass
// needs, for many short sequences at once, and belongs to one thread. A block here is constant, so
// that all threads and all values of lambda share it; its state has a scale of its own, so that
// thousands of layers do not overflow; it can leave out gate, norm or net, exchange the skip, show
// its attention matrices, drop entries, and read published weights in groups and sizes that are not
// trained here. One function for both would hide the equations behind these switches. The gradients
// of encoder blocks (study layers) come from nn/layers/, with the weights of the block. The scan of
// Mamba-1 needs none of these switches: block and layer share selective_scan.hpp. The SSD of
// Mamba-2 is not shared. A block computes it by chunks (state_space.hpp), in time O(N) for N
// tokens. A layer keeps the N x N matrices that its backward pass needs (layers/ssd.hpp). Results
// of the two differ in the last bits, and the layer's takes 0.1 to 0.2 of the block's time at N =
// 64, but twice its time at N = 1024.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <tuple>
#include <vector>

#include "nn/blocks/model_spec.hpp"
#include "nn/blocks/norms.hpp"
#include "nn/blocks/tensors.hpp"

namespace ranklab {

template <class T>
class Block {
 public:
  virtual ~Block() = default;
  /// Replaces the state by the block's output; lambda multiplies the skip ([LambdaSkip] Definition
  /// 3.1). Safe to call from several threads. Entries may overflow to infinity; the caller checks.
  virtual void forward(State<T>& state, double lambda) const = 0;
  /// The same for several states, each with its lambda. A block whose weights are large passes the
  /// states through them together, so that they are read once. The last bits may then depend on how
  /// many states there are, because those of a BLAS product can depend on its number of columns.
  virtual void forward_all(const std::vector<State<T>*>& states,
                           const std::vector<double>& lambda) const {
    for (std::size_t i = 0; i < states.size(); ++i) forward(*states[i], lambda[i]);
  }
  /// How many states of this many tokens are worth passing together.
  virtual std::size_t states_together(arma::uword) const { return 1; }
};

/// Inside a post-norm block: P' (N, N) of each head, and the outputs of the four steps of [Shallow]
/// Algorithm 1: attention and skip, norm, feed-forward net and skip, norm. A step that the spec
/// omits repeats the previous output; the last one is the block's output.
template <class T>
struct BlockSteps {
  std::vector<arma::Mat<T>> P;
  std::array<arma::Mat<T>, 4> Y;
};

template <class T>
class SteppedBlock : public Block<T> {
 public:
  /// For X (d, N); lambda as in forward.
  virtual BlockSteps<T> steps(const arma::Mat<T>& X, double lambda) const = 0;
};

/// Builds the block of a resolved spec from tensors with the names in the head of its file.
template <class T>
using MakeBlock = std::unique_ptr<Block<T>> (*)(const ModelSpec& spec, Tensors<T>& tensors);

/// The embedding (d, N) of token ids; encoders apply `dropout` to it if given. Throws Failure if
/// there are more ids than published weights have positions.
template <class T>
using Embed = arma::Mat<T> (*)(const ModelSpec& spec, Tensors<T>& tensors,
                               const std::vector<std::uint32_t>& ids, Dropout* dropout);

/// The functions that build a model, one per type of numbers: get them with
/// `std::get<MakeBlock<T>>`.
struct BlockMakers {
  std::tuple<MakeBlock<float>, MakeBlock<double>> block;
  // Null: one column of the drawn table `embedding` per id.
  std::tuple<Embed<float>, Embed<double>> embed;
};

/// Makers of blocks of class B, which is constructed from a spec and tensors.
template <template <class> class B>
std::shared_ptr<const BlockMakers> makers_of(Embed<float> embed_single = nullptr,
                                             Embed<double> embed_double = nullptr) {
  return std::make_shared<BlockMakers>(BlockMakers{
      {[](const ModelSpec& spec, Tensors<float>& tensors) -> std::unique_ptr<Block<float>> {
         return std::make_unique<B<float>>(spec, tensors);
       },
       [](const ModelSpec& spec, Tensors<double>& tensors) -> std::unique_ptr<Block<double>> {
         return std::make_unique<B<double>>(spec, tensors);
       }},
      {embed_single, embed_double}});
}

}  // namespace ranklab
