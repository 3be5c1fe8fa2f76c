// The flags that say which model is stacked, shared by the studies of `rank-collapse`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "models/blocks/model_row.hpp"

namespace ranklab {

constexpr std::uint64_t largest_model_size = 1'000'000;  // of every size of a model

/// Fields of a model spec. `models` are the architectures that the study can run; the spec's model is the default.
std::vector<Field> model_fields(ModelSpec& spec, const std::vector<std::string>& models = model_names());

/// --weights, --model-config, --ignore-tensors, --tokens-file.
std::vector<Field> file_fields(ModelSpec& spec);

/// --also: further models, NAME[+C_V][:LAYERS[xDIM]], or files of weights.
Field also_field(std::vector<std::string>& also);

/// The model's name, and its C_V where that is not Gaussian: "attention+identity".
std::string model_label(const ModelSpec& spec);

/// The label in pictures. It says "trained here" if there are several trainings, so that nobody takes them for published weights.
std::string drawn_label(const ModelSpec& spec);

/// One of the models that a study stacks side by side.
struct StackedModel {
  ModelSpec spec;  // settled
  std::string label;
  std::string prefix;                     // of the names of its numbers: "" for --model, else "<label>."
  std::vector<ModelSpec> retrained = {};  // the same model with the weights of further trainings

  /// The model with the weights of one training; drawn weights have one alone.
  const ModelSpec& training(std::uint64_t index) const { return index == 0 ? spec : retrained.at(index - 1); }
};

/// --model, and those that --also names, otherwise of the same K, N and d; a file of weights of a model that is already there is a
/// further training of it. Throws UsageError that names the flag, also if one model has more trainings than another.
std::vector<StackedModel> stacked_models(const ModelSpec& main, const std::vector<std::string>& also);

}  // namespace ranklab
