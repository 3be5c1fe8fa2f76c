// Writes trained weights as .safetensors, for `rank-collapse --weights` and other programs.
#pragma once

#include <string>

#include "nn/sequence_model.hpp"

namespace ranklab {

/// A causal language model whose blocks are those of GPT-2 (attention, layer norm, learned
/// positions, GELU) or Mamba-2 (RMS norm) is written in their published layout, with gains of 1 and
/// biases of 0 where the model has none, and <file without .safetensors>.config.json next to it.
/// Any other model is written under the names of its parameters, each (out, in). Throws Failure.
template <class T>
void save_weights(const SequenceModel<T>& model, const std::string& file);

/// The file of the sizes next to saved weights.
std::string weights_config_file(const std::string& file);

}  // namespace ranklab
