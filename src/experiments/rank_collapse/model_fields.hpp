// The flags that define the stacked model, shared by the studies of `rank-collapse`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "nn/blocks/model_row.hpp"

namespace ranklab {

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

/// One of the models that a study compares.
struct StackedModel {
  ModelSpec spec;  // resolved
  std::string label;
  std::string prefix;  // of the names of its quantities: "" for --model, otherwise "<label>."
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

}  // namespace ranklab
