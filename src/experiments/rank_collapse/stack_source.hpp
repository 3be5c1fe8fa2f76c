// Where a stack has its input and its weights from: drawn, or published weights and given token ids.
#pragma once

#include <cstdint>
#include <memory>

#include "models/blocks/stack.hpp"

namespace ranklab {

/// The tensors of block `layer` (from 0): block_tensors, or those of the spec's checkpoint where it has one. `trial` must outlive
/// them. Building from them throws Failure as LoadedTensors does.
template <class T>
std::unique_ptr<Tensors<T>> tensors_of_layer(const ModelSpec& spec, const Trial& trial, std::uint64_t layer);

/// Those before the first block, in the same way.
template <class T>
std::unique_ptr<Tensors<T>> tensors_of_embedding(const ModelSpec& spec, const Trial& trial);

/// The state that enters the first block: state 0 of every depth series. Bare stacks with the norm `rows` normalise it too.
/// Tokens are the trial's own of given sequences, else drawn; their embedding is the checkpoint's, else drawn. Throws Failure for
/// a given id that is not in the vocabulary, and for a sequence longer than published weights have positions. A `dropout` above 0
/// is the rate of the state's, which the embedding of encoders has met already.
template <class T>
State<T> draw_input(const ModelSpec& spec, const Trial& trial, double dropout = 0);

}  // namespace ranklab
