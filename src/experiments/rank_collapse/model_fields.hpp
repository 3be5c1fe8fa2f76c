// The flags that say which model is stacked, shared by the studies of `rank-collapse`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "models/blocks/model_spec.hpp"

namespace ranklab {

constexpr std::uint64_t largest_size = 1'000'000;  // of every size of a model

/// Fields of a model spec. `models` are the architectures that the study can run; the spec's model is the default.
std::vector<Field> model_fields(ModelSpec& spec, const std::vector<std::string>& models = model_names());

/// --weights, --model-config, --tokens-file.
std::vector<Field> file_fields(ModelSpec& spec);

}  // namespace ranklab
