// The Mamba-2 block ([LambdaSkip] Section 5; Dao and Gu, 2024), and the ways in which its gate and its norms may be removed.
#pragma once

#include "models/block.hpp"

namespace ranklab {

template <class T>
std::unique_ptr<Block<T>> make_mamba2_block(const ModelSpec& spec, Tensors<T>& tensors);

}  // namespace ranklab
