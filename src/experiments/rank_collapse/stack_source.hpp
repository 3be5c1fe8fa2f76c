// The source of a stack's input and weights: random draws, or published weights and a token file.
#pragma once

#include <cstdint>
#include <memory>

#include "nn/blocks/stack.hpp"
#include "run/trials.hpp"

namespace ranklab {

/// The tensors of block `layer` (from 0): those of the spec's checkpoint if it has one, otherwise
/// block_tensors. `trial` must outlive them. Building a block from them throws Failure as
/// LoadedTensors does.
template <class T>
std::unique_ptr<Tensors<T>> tensors_of_layer(const ModelSpec& spec, const Trial& trial,
                                             std::uint64_t layer);

/// The tensors before the first block, from the same source.
template <class T>
std::unique_ptr<Tensors<T>> tensors_of_embedding(const ModelSpec& spec, const Trial& trial);

/// The state that enters the first block: state 0 of every depth series. Bare stacks with the norm
/// `rows` also normalize it. The tokens are the trial's sequence of the token file if there is one,
/// otherwise drawn; their embedding is the checkpoint's if there is one, otherwise drawn. Throws
/// Failure for an id of the file that is not in the vocabulary, and for a sequence longer than the
/// positions of published weights. If `dropout` is above 0, it is the dropout rate of the state,
/// and the embedding of encoders already has it.
template <class T>
State<T> draw_input(const ModelSpec& spec, const Trial& trial, double dropout = 0);

}  // namespace ranklab
