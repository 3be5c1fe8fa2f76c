// What the files of a model say: --weights, --model-config, --tokens-file.
#pragma once

#include <string>
#include <vector>

#include "models/blocks/model_spec.hpp"
#include "report/result.hpp"

namespace ranklab {

/// Opens the files that the spec names and takes over what they say: the model, its sizes, its epsilon and activation, the
/// token ids. Flags may still override some of it; settle_with_files holds them against the files. Throws Failure for files
/// that cannot be used or contradict each other, UsageError for --model-config without --weights.
void adopt_files(ModelSpec& spec);

/// The same beside the models of --also. Those of a preset are drawn: beside published weights they are not meant, unless a flag
/// says so afterwards. Files of the spec's own model are further trainings of it, which are counted.
void adopt_files(ModelSpec& spec, std::vector<std::string>& also);

/// Settles the spec, and refuses what does not fit its files: another model or size than that of the weights, unknown heads
/// (UsageError that names the flag); a tensor that is missing, misshapen or unknown, an id beyond the vocabulary, a sequence
/// that is longer than the weights have positions (Failure that names the file).
void settle_with_files(ModelSpec& spec);

/// Whether a word names a file of weights, as elements of --also may.
bool names_weights(const std::string& word);

/// Trials that the files hold: trainings if there are several, else the sequences of the token file. 0: no such files.
std::uint64_t trials_in_files(const ModelSpec& spec);

/// What is independent between trials: weights and input are drawn anew, models are trained anew, or sequences go through the same
/// published weights.
Unit independent_unit(const ModelSpec& spec);

/// The first few of these names of tensors, as a list: "classifier.bias, classifier.weight and 7 more".
std::string listed(const std::vector<std::string>& keys);

/// 128,989,632
std::string grouped_digits(std::uint64_t number);

/// For the result's notes: which weights, what of them was passed over and what was assumed, how many sequences, and how many of
/// them were cut.
std::vector<std::string> file_notes(const ModelSpec& spec);

}  // namespace ranklab
