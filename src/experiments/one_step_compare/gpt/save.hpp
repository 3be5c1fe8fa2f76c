// Files that the first run of trial 0 writes: its weights, and recordings for the study files.
#pragma once

#include <string>

#include "experiments/one_step_compare/gpt/measure.hpp"

namespace ranklab::gpt {

/// The file name at a step: "model.safetensors" for the last step, "model.step100.safetensors" for
/// step 100.
std::string file_at(const std::string& file, std::uint64_t step, std::uint64_t last);

/// Writes the weights. A model of GPT-2's architecture (layer norm, learned positions, GELU, no
/// norm of queries and keys) is written in GPT-2's published layout, with norm gains of 1, biases
/// of 0 and an untied `lm_head.weight`, and <file without .safetensors>.config.json is written next
/// to it, for `rank-collapse --weights`. Any other model is written under the names of its
/// parameters, each (out, in). Throws Failure.
template <class T>
void save_weights(const Gpt<T>& model, const std::string& file);

/// Writes the folder <folder>/step<N> in the format of experiments/ranklab_dump.py: for every
/// block, the second moment of its input and its gradient. Throws Failure.
template <class T>
void save_recording(const Gpt<T>& model, const Moments& moments, const std::string& folder,
                    std::uint64_t step);

}  // namespace ranklab::gpt
