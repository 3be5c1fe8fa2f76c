#include "experiments/rank_collapse/model_files.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>

#include "core/error.hpp"
#include "core/text.hpp"
#include "io/atomic_file.hpp"
#include "io/tensors/token_ids.hpp"
#include "nn/blocks/model_config.hpp"
#include "nn/checkpoints/checkpoint.hpp"
#include "report/result_json.hpp"

namespace ranklab {
namespace {

// A size that both the config and the tensors define.
struct SharedSize {
  const char* what;
  std::optional<std::uint64_t> in_config;
  std::uint64_t in_tensors;
};

void require_agreement(const ModelConfig& config, const ModelSpec& spec) {
  const std::string file = printable(spec.weights);
  const auto refuse = [&](const std::string& what, const std::string& said,
                          const std::string& held) {
    throw Failure(say("{}: {} {} does not fit {}, whose tensors have {}", printable(config.path),
                      what, said, file, held));
  };
  if (config.model && *config.model != spec.model) refuse("the model", *config.model, spec.model);
  const ModelRow& row = spec.row();
  std::vector<SharedSize> sizes = {{"width", config.dim, spec.dim},
                                   {"feed-forward width", config.ffn, spec.ffn}};
  if (row.published->shows(&ModelSpec::heads)) sizes.push_back({"heads", config.heads, spec.heads});
  sizes.push_back({"state size", config.state, spec.state});
  sizes.push_back({"convolution taps", config.taps, spec.taps});
  if (config.head_width)
    sizes.push_back({"head width", config.head_width, row.expand * spec.dim / spec.heads});
  sizes.push_back({"expansion", config.expand, row.expand});
  sizes.push_back({"positions", config.positions, spec.positions});
  sizes.push_back({"token types", config.types, spec.types});
  if (!row.published->padded_vocabulary)
    sizes.push_back({"vocabulary", config.vocabulary, spec.vocabulary});
  sizes.push_back({"embedding width", config.embedding, spec.embedding});
  if (!row.published->one_layer) sizes.push_back({"layers", config.layers, spec.layers});
  for (const SharedSize& size : sizes) {
    if (size.in_config && *size.in_config != size.in_tensors) {
      refuse(size.what, std::to_string(*size.in_config), std::to_string(size.in_tensors));
    }
  }
  if (config.vocabulary && *config.vocabulary > spec.vocabulary) {
    refuse("vocabulary", std::to_string(*config.vocabulary), std::to_string(spec.vocabulary));
  }
}

// The number of state groups, which the tensors do not show: from the flag, otherwise from the
// config. If neither gives it, one group is assumed.
void adopt_groups(const std::optional<std::uint64_t>& in_config, ModelSpec& spec) {
  if (in_config && spec.groups != 0 && *in_config != spec.groups) {
    throw UsageError(say("--ssm-groups {} does not fit --model-config {}, which has {}",
                         spec.groups, printable(spec.model_config), *in_config));
  }
  if (in_config) spec.groups = *in_config;
  spec.assumes_one_group = spec.groups == 0;
}

void adopt_weights(ModelSpec& spec) {
  const std::shared_ptr<const Checkpoint> checkpoint = Checkpoint::open(spec.weights);
  std::optional<ModelConfig> config;
  if (!spec.model_config.empty()) config = read_model_config(spec.model_config);
  adopt_groups(config ? config->groups : std::nullopt, spec);
  checkpoint->take_sizes(spec);
  if (config) {
    require_agreement(*config, spec);
    if (config->heads) spec.heads = *config->heads;
    if (config->layers) spec.layers = *config->layers;
    if (config->norm_epsilon) spec.norm_epsilon = *config->norm_epsilon;
    if (config->activation && spec.row().has("mlp")) spec.activation = *config->activation;
  }
  spec.checkpoint = checkpoint;
}

[[noreturn]] void refuse_size(const ModelSpec& spec, const std::string& flag,
                              const std::string& value, const std::string& held) {
  throw UsageError(say("--{} {} does not fit --weights {}, which {}", flag, value,
                       printable(spec.weights), held));
}

// Refuses flags that contradict the weights.
void require_sizes_fit(const ModelSpec& spec) {
  ModelSpec held = spec;
  spec.checkpoint->take_sizes(held);
  const auto require = [&](const char* flag, std::uint64_t value, std::uint64_t in_file) {
    if (value != in_file)
      refuse_size(spec, flag, std::to_string(value), "has " + std::to_string(in_file));
  };
  require("dim", spec.dim, held.dim);
  require("heads", spec.heads, held.heads);
  require("ffn", spec.ffn, held.ffn);
  require("state", spec.state, held.state);
  require("embedding", spec.embedding, held.embedding);
  require("vocabulary", spec.vocabulary, held.vocabulary);
  if (!spec.shares_weights() && spec.layers > held.layers) {
    refuse_size(spec, "layers", std::to_string(spec.layers), "has " + std::to_string(held.layers));
  }
}

// Only published weights limit the positions; drawn position tables are as long as needed.
bool has_positions(const ModelSpec& spec) {
  return spec.checkpoint != nullptr && spec.row().has_positions && spec.input == "tokens";
}

void require_ids_fit(const ModelSpec& spec) {
  for (std::size_t row = 0; row < spec.sequences->size(); ++row) {
    const auto& ids = (*spec.sequences)[row];
    const std::string where = say("{}: sequence {}", printable(spec.tokens_file), row + 1);
    const auto used = std::min<std::uint64_t>(ids.size(), spec.tokens);
    if (has_positions(spec) && used > spec.positions) {
      throw Failure(
          say("{} has {} tokens, but {} has only {} positions; --tokens N cuts every sequence to "
              "its first N tokens",
              where, used, spec.model, spec.positions));
    }
    const auto beyond = std::find_if(ids.begin(), ids.end(),
                                     [&](std::uint32_t id) { return id >= spec.vocabulary; });
    if (beyond != ids.end()) {
      throw Failure(say("{}, token {}: the id {} is not in the vocabulary; allowed: 0 to {}", where,
                        beyond - ids.begin() + 1, *beyond, spec.vocabulary - 1));
    }
  }
}

}  // namespace

void adopt_files(ModelSpec& spec) {
  if (!spec.tokens_file.empty()) {
    spec.sequences = std::make_shared<const TokenSequences>(read_token_ids(spec.tokens_file));
    spec.input = "tokens";
  }
  if (!spec.weights.empty()) return adopt_weights(spec);
  if (!spec.model_config.empty())
    throw UsageError("--model-config is not allowed without --weights");
}

void adopt_files(ModelSpec& spec, std::vector<std::string>& also) {
  adopt_files(spec);
  if (spec.checkpoint == nullptr) return;
  std::erase_if(also, [](const std::string& word) { return !names_weights(word); });
  spec.trainings = 1 + static_cast<std::uint64_t>(
                           std::count_if(also.begin(), also.end(), [&](const std::string& file) {
                             return Checkpoint::open(file)->model() == spec.checkpoint->model();
                           }));
}

void resolve_defaults_with_files(ModelSpec& spec) {
  if (spec.checkpoint != nullptr) {
    if (spec.model != spec.checkpoint->model())
      refuse_size(spec, "model", spec.model, "contains " + spec.checkpoint->model());
    if (spec.heads == 0) {
      throw UsageError(
          say("--heads is required with --weights {}, because the tensors of {} do not show the "
              "number of heads; give --heads N or --model-config config.json",
              printable(spec.weights), spec.model));
    }
  }
  resolve_defaults(spec);
  if (spec.checkpoint != nullptr) {
    require_sizes_fit(spec);
    spec.checkpoint->check(spec);
  }
  if (spec.sequences != nullptr) {
    require_ids_fit(spec);
  } else if (has_positions(spec) && spec.tokens > spec.positions) {
    refuse_size(spec, "tokens", std::to_string(spec.tokens),
                "has " + std::to_string(spec.positions) + " positions");
  }
}

bool names_weights(const std::string& word) {
  return word.ends_with(".safetensors") || word.ends_with(".index.json");
}

std::uint64_t trials_in_files(const ModelSpec& spec) {
  if (spec.trainings > 1) return spec.trainings;
  return spec.sequences == nullptr ? 0 : spec.sequences->size();
}

Unit independent_unit(const ModelSpec& spec) {
  if (spec.checkpoint == nullptr) return Unit::draw;
  return spec.trainings > 1 ? Unit::training : Unit::sequence;
}

std::string listed(const std::vector<std::string>& keys) {
  constexpr std::size_t most = 6;
  std::vector<std::string> first;
  for (std::size_t i = 0; i < std::min(most, keys.size()); ++i)
    first.push_back(printable_key(keys[i]));
  return joined(first) + (keys.size() > most ? say(" and {} more", keys.size() - most) : "");
}

std::vector<std::string> file_notes(const ModelSpec& spec) {
  std::vector<std::string> notes;
  if (spec.checkpoint != nullptr) {
    const Checkpoint& weights = *spec.checkpoint;
    notes.push_back(say("Weights: {}, {}, {} numbers in {}.", printable(weights.path()),
                        weights.model(), grouped_count(static_cast<double>(weights.parameters())),
                        weights.dtypes()));
    if (const auto unknown = weights.unknown(); !unknown.empty())
      notes.push_back(say("Unused tensors: {}.", listed(unknown)));
    if (spec.assumes_one_group && spec.row().has("ssm-groups")) {
      notes.push_back(std::string(assumed) +
                      "1 group of states, because neither the tensors nor a config show the "
                      "number; --ssm-groups N changes it.");
    }
  }
  if (spec.sequences != nullptr) {
    const auto cut = std::count_if(spec.sequences->begin(), spec.sequences->end(),
                                   [&](const auto& ids) { return ids.size() > spec.tokens; });
    if (spec.trainings > 1) {
      notes.push_back(say(
          "{} trainings: {} and those of --also. A trial is one training; its numbers are means "
          "over all sequences.",
          spec.trainings, printable(spec.weights)));
    }
    notes.push_back(
        say("Tokens: {}, {} sequences{}.", printable(spec.tokens_file), spec.sequences->size(),
            cut > 0 ? say(", {} of them cut to their first {} tokens", cut, spec.tokens) : ""));
  } else if (spec.checkpoint != nullptr && spec.input == "tokens") {
    notes.push_back(spec.zipf > 0
                        ? "Tokens: drawn, id i with frequency proportional to (i + 1)^-zipf."
                        : "Tokens: drawn uniformly from the vocabulary.");
  }
  return notes;
}

}  // namespace ranklab
