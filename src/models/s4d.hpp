// S4D: a diagonal state-space model per channel, post-norm ([LambdaSkip] Appendix A.13.1; Gu et al., 2022).
#pragma once

#include "models/block.hpp"

namespace ranklab {

template <class T>
std::unique_ptr<Block<T>> make_s4d_block(const ModelSpec& spec, Tensors<T>& tensors);

}  // namespace ranklab
