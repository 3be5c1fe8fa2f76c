// The files of a model: --weights, --model-config, --tokens-file.
#pragma once

#include <string>
#include <vector>

#include "nn/blocks/model_spec.hpp"
#include "report/result.hpp"

namespace ranklab {

/// Opens the files that the spec names and copies their contents to it: the model, its sizes, its
/// epsilon and activation, the token ids. Flags may still override some of these;
/// resolve_defaults_with_files checks them against the files. Throws Failure for files that cannot
/// be used or contradict each other, UsageError for --model-config without --weights.
void adopt_files(ModelSpec& spec);

/// The same with the models of --also. If --weights is given, this removes models with drawn
/// weights from the list, such as those of a preset; a flag can add them again afterward. Files of
/// the spec's model are further trainings of it, and this counts them.
void adopt_files(ModelSpec& spec, std::vector<std::string>& also);

/// Resolves the defaults of the spec and checks it against its files. Throws UsageError that names
/// the flag if the model or a size differs from the weights, or if the number of heads is unknown.
/// Throws Failure that names the file for a tensor that is missing, unknown or of the wrong shape,
/// for an id outside the vocabulary, and for a sequence longer than the positions of the weights.
void resolve_defaults_with_files(ModelSpec& spec);

/// Whether an element of --also names a weights file.
bool names_weights(const std::string& word);

/// The number of trials that the files define: trainings if there are several, otherwise the
/// sequences of the token file. 0: no such files.
std::uint64_t trials_in_files(const ModelSpec& spec);

/// The independent unit of the trials: a draw of weights and input, a training, or a sequence that
/// passes through the same published weights.
Unit independent_unit(const ModelSpec& spec);

/// The first few tensor names as a list: "classifier.bias, classifier.weight and 7 more".
std::string listed(const std::vector<std::string>& keys);

/// Notes for the result: the weights, their unused tensors, the assumptions, the number of
/// sequences, and how many of them were cut.
std::vector<std::string> file_notes(const ModelSpec& spec);

}  // namespace ranklab
