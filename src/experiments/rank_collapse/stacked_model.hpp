// The models that the studies of `rank-collapse` stack: their flags, the files that these may name,
// and the source of their weights and input, which is a random draw or the files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "experiments/study.hpp"
#include "nn/blocks/model_row.hpp"
#include "nn/blocks/stack.hpp"
#include "result/result.hpp"
#include "run/trials.hpp"

namespace ranklab {

// Flags -------------------------------------------------------------------------------------------

constexpr std::uint64_t largest_model_size = 1'000'000;  // for every size of a model

/// Fields of a model spec. `models` are the architectures that the study can run; the spec's model
/// is the default.
std::vector<Field> model_fields(ModelSpec& spec,
                                const std::vector<std::string>& models = model_names());

/// The fields of all parts, in their order.
std::vector<Field> all_fields(const std::vector<std::vector<Field>>& parts);

/// --weights, --model-config, --ignore-tensors, --tokens-file.
std::vector<Field> file_fields(ModelSpec& spec);

/// --also: further models, NAME[+C_V][:LAYERS[xDIM]], or weights files.
Field also_field(std::vector<std::string>& also);

/// The model's name, and its C_V if that is not Gaussian: "attention+identity".
std::string model_label(const ModelSpec& spec);

/// The model's title, and its C_V if that is not Gaussian: "softmax attention, C_V = I". If there
/// are several trainings, it says "trained here" and the size, to distinguish them from published
/// weights.
std::string figure_label(const ModelSpec& spec);

// Files: --weights, --model-config, --tokens-file -------------------------------------------------

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
/// Throws Failure that names the config and the key for heads of a config that do not divide the
/// width. Throws Failure that names the file for a tensor that is missing, unknown or of the wrong
/// shape, for an id outside the vocabulary, and for a sequence longer than the positions of the
/// weights.
void resolve_defaults_with_files(ModelSpec& spec);

/// Whether an element of --also names a weights file.
bool names_weights(const std::string& word);

/// The number of trials that the files define: trainings if there are several, otherwise the
/// sequences of the token file. 0: no such files.
std::uint64_t trials_in_files(const ModelSpec& spec);

/// The independent unit of the trials: a draw of weights and input, a training, or a sequence that
/// passes through the same published weights.
Unit independent_unit(const ModelSpec& spec);

/// The values that differ from --model-config.
std::vector<Contradiction> contradictions(const ModelSpec& spec);

/// What neither a flag nor --model-config nor the tensors say, as notes.
std::vector<std::string> assumptions(const ModelSpec& spec);

/// The first few tensor names as a list: "classifier.bias, classifier.weight and 7 more".
std::string listed(const std::vector<std::string>& keys);

/// first, first + 1, ..., the number of layers: the x of numbers over layers or blocks.
std::vector<double> layers_from(std::uint64_t first, const ModelSpec& spec);

/// Notes for the result: the weights, their unused tensors, the assumptions, the number of
/// sequences, and how many of them were cut.
std::vector<std::string> file_notes(const ModelSpec& spec);

// The models of a comparison ----------------------------------------------------------------------

/// One of the models that a study compares.
struct StackedModel {
  ModelSpec spec;  // resolved
  std::string label;
  At at = {};  // of its quantities; their names omit the model of --model
  std::vector<ModelSpec> retrained = {};  // the same model with the weights of further trainings

  /// The model with the weights of one training. Drawn weights have only one.
  const ModelSpec& training(std::uint64_t index) const {
    return index == 0 ? spec : retrained.at(index - 1);
  }
};

/// The model of --model and those of --also, which by default have the same K, N and d. A weights
/// file of a model that is already in the list is a further training of it. Throws UsageError that
/// names the flag, also if one model has more trainings than another.
std::vector<StackedModel> stacked_models(const ModelSpec& main,
                                         const std::vector<std::string>& also);

// Weights and input -------------------------------------------------------------------------------

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
