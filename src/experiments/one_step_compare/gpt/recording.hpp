// Files that the first run of trial 0 writes: the name of its weights, and recordings for the study
// files.
#pragma once

#include <string>

#include "experiments/one_step_compare/gpt/measure.hpp"

namespace ranklab::gpt {

/// The file name at a step: "model.safetensors" for the last step, "model.step100.safetensors" for
/// step 100.
std::string file_at(const std::string& file, std::uint64_t step, std::uint64_t last);

/// The folder of the recording of a step.
std::string recording_folder(const std::string& folder, std::uint64_t step);

/// Writes recording_folder() in the format of experiments/ranklab_dump.py: for every
/// block, the second moment of its input and its gradient. Throws Failure.
template <class T>
void save_recording(const SequenceModel<T>& model, const Moments& moments,
                    const std::string& folder, std::uint64_t step);

}  // namespace ranklab::gpt
