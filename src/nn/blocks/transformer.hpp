// The part of [Shallow]'s Transformer blocks that studies draw themselves.
#pragma once

#include "nn/blocks/model_spec.hpp"
#include "nn/blocks/tensors.hpp"

namespace ranklab {

/// The law of W's entries: N(0, 1/d), or N(0, h/d).
EntryLaw value_start(const ModelSpec& spec);

}  // namespace ranklab
