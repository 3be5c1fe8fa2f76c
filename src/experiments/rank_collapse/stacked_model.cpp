#include "experiments/rank_collapse/stacked_model.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <optional>
#include <string_view>

#include "core/error.hpp"
#include "core/flag_word.hpp"
#include "core/text.hpp"
#include "ensembles/tokens.hpp"
#include "io/atomic_file.hpp"
#include "io/tensors/token_ids.hpp"
#include "nn/blocks/model_config.hpp"
#include "nn/checkpoints/checkpoint.hpp"
#include "nn/checkpoints/loaded_tensors.hpp"
#include "result/result_json.hpp"

namespace ranklab {

// Flags -------------------------------------------------------------------------------------------

namespace {

// A choice whose value is `model_default` until the model is known. Users cannot choose it.
Field model_default_field(std::string name, std::string& value, std::vector<std::string> choices,
                          std::string help) {
  return choice_field(std::move(name), value, std::move(choices), "",
                      std::move(help) + " (own: the model's default)");
}

Field model_default_size_field(std::string name, std::uint64_t& value, std::string symbol,
                               std::string help) {
  return or_unset(size_field(std::move(name), value, 0, largest_model_size, std::move(symbol),
                             std::move(help) + " (not given: the model's default)"));
}

// The help text of a flag that only some models have.
std::string help_for_models(const std::string& flag, const std::string& help) {
  return joined(models_with(flag)) + ": " + help;
}

// "a, b or c"
std::string alternatives(std::vector<std::string> names) {
  const std::string last = names.back();
  names.pop_back();
  return names.empty() ? last : joined(names) + " or " + last;
}

}  // namespace

std::vector<Field> model_fields(ModelSpec& spec, const std::vector<std::string>& offered) {
  // The model is that of the weights, which may not be read yet; then every flag may matter.
  const auto only = [&spec](const std::function<bool(const ModelRow& model)>& applies,
                            const std::string& needs) {
    return [&spec, applies, needs](Field field) {
      return only_if(
          [&spec, applies] {
            return (!spec.weights.empty() && spec.checkpoint == nullptr) || applies(spec.row());
          },
          needs, std::move(field));
    };
  };
  const auto has_input = [&spec](const ModelRow& model, const std::string& input) {
    return (spec.input == model_default ? model.input : spec.input) == input;
  };
  // Those that the study can run.
  const auto needs = [&](std::vector<std::string> names) {
    std::erase_if(names, [&](const std::string& name) {
      return std::find(offered.begin(), offered.end(), name) == offered.end();
    });
    return names.empty() ? "a model that this study does not have"
                         : "--model " + alternatives(std::move(names));
  };
  const auto of_models = [&](const Field& field) {
    return only([name = field.name](const ModelRow& model) { return model.has(name); },
                needs(models_with(field.name)))(field);
  };
  const auto of_heads = only([](const ModelRow&model) { return model.has_heads; },
                             needs(models_that([](const ModelRow&row) { return row.has_heads; }))),
             of_feed_forward = only(
                 [&spec](const ModelRow&model) { return model.has("mlp") && spec.mlp != "off"; },
                 needs(models_with("mlp")) + ", with --mlp on"),
             of_tokens = only(
                 [&spec, has_input](const ModelRow&model) {
                   return has_input(model, "tokens") && spec.tokens_file.empty();
                 },
                 "--input tokens, and no --tokens-file"),
             of_cone = only([has_input](const ModelRow&model) { return has_input(model, "cone"); },
                            "--input cone");
  return {
      choice_field("model", spec.model, offered, "", "sequence model to stack"),
      size_field("layers", spec.layers, 1, largest_model_size, "K", "number of layers or blocks"),
      size_field(
          "tokens", spec.tokens, 1, largest_model_size, "N",
          "tokens per sequence, at least 2 (0: 128, or the longest sequence of --tokens-file)"),
      size_field("dim", spec.dim, 1, largest_model_size, "d", "token width"),
      of_heads(
          model_default_size_field("heads", spec.heads, "h", "number of attention or mixer heads")),
      of_feed_forward(
          model_default_size_field("ffn", spec.ffn, "q", "width of the feed-forward net")),
      of_models(
          model_default_size_field("state", spec.state, "n", "state size of a state-space model")),
      of_tokens(model_default_size_field("vocabulary", spec.vocabulary, "",
                                         "number of token ids to draw from")),
      of_models(model_default_size_field(
          "ssm-groups", spec.groups, "",
          help_for_models("ssm-groups",
                          "number of head groups; the heads of a group share B and C"))),
      model_default_field("norm", spec.norm, {"rows", "layer", "rms", "none"},
                          "normalization of the tokens"),
      of_models(model_default_field("gating", spec.gating, {"on", "off"},
                                    help_for_models("gating", "multiplicative gate"))),
      of_models(
          model_default_field("mlp", spec.mlp, {"on", "off"}, "transformers: feed-forward net")),
      model_default_field("share-weights", spec.share_weights, {"on", "off"},
                          "use the same weights in every layer"),
      model_default_field("input", spec.input, {"gaussian", "cone", "tokens"},
                          "input of the first layer"),
      of_tokens(real_field("zipf", spec.zipf, 0.0, 100.0, "",
                           "input tokens: frequency of id i is proportional to (i + 1)^-zipf")),
      of_cone(real_field("cone-width", spec.cone_width, 0.0, 1e6, "",
                         "input cone: spread of the tokens around one direction")),
      of_models(real_field("alpha", spec.alpha, -1e6, 1e6, "alpha",
                           "post-norm, pre-norm: strength of self-attention")),
      real_field("weight-scale", spec.weight_scale, 0.0, 1e6, "",
                 "factor on every drawn weight matrix"),
      of_models(choice_field("weight-variance", spec.weight_variance, {"1/d", "h/d"}, "",
                             "post-norm, pre-norm: variance of the entries of W")),
      of_models(real_field("decay", spec.decay, 0.0, 1.0, "alpha",
                           help_for_models("decay", "decay in A_t = alpha I"))),
      of_models(choice_field(
          "lambda-at", spec.lambda_at, {"attention", "both"}, "",
          help_for_models(
              "lambda-at",
              "residual that lambda multiplies: of attention only, or of both sublayers"))),
      of_models(choice_field(
          "skip-at", spec.skip_at, {"residual", "mixer"}, "",
          help_for_models("skip-at",
                          "place of the lambda-skip: the residual stream, or inside the mixer"))),
      of_models(choice_field(
          "skip-input", spec.skip_input, {"stream", "normed"}, "",
          help_for_models(
              "skip-input",
              "input of the lambda-skip: the residual stream, before or after its norm"))),
      of_models(choice_field(
          "norm-off", spec.norm_off, {"block", "inner", "both"}, "",
          help_for_models(
              "norm-off",
              "norms that --norm none removes: the block's, the mixer's inner norm, or both"))),
  };
}

std::vector<Field> all_fields(const std::vector<std::vector<Field>>& parts) {
  std::vector<Field> fields;
  for (const std::vector<Field>& part : parts)
    fields.insert(fields.end(), part.begin(), part.end());
  return fields;
}

std::vector<Field> file_fields(ModelSpec& spec) {
  return {
      text_field("weights", spec.weights,
                 "published weights of " + alternatives(published_models()) +
                     ": .safetensors, or the index.json of shards"),
      text_field("model-config", spec.model_config, "config.json of the weights"),
      one_per_flag(text_list_field("ignore-tensors", spec.ignore_tensors,
                                   "glob: tensors of the weights that the model does not use, such "
                                   "as the head of a fine-tuned model")),
      text_field("tokens-file", spec.tokens_file,
                 "token ids, one sequence per row and per trial: .npy, .json or .txt"),
  };
}

Field also_field(std::vector<std::string>& also) {
  Field field{"also", &also, "",
              "further models to draw: NAME, NAME:LAYERS, NAME:LAYERSxDIM or NAME+C_V "
              "(attention+identity:64x256), by default with the same --layers, --tokens and --dim; "
              "or a weights file, FILE.safetensors, read with its FILE.config.json. Several files "
              "of one model are separate trainings, and each training is one trial: the mean over "
              "the sequences"};
  return or_empty(field);
}

std::string model_label(const ModelSpec& spec) {
  return spec.value_weights == "gaussian" ? spec.model : spec.model + "+" + spec.value_weights;
}

std::string figure_label(const ModelSpec& spec) {
  std::string label = model_row(spec.model).title;
  if (spec.value_weights == "identity") label += ", C_V = I";
  if (spec.value_weights == "orthogonal") label += ", orthogonal W_V";
  if (spec.trainings <= 1) return label;
  return say("trained here: {}, {}, width {}", label, plural(spec.layers, "layer"), spec.dim);
}

// Files -------------------------------------------------------------------------------------------

namespace {

// Refuses a config that contradicts the tensors.
class Agreement {
 public:
  Agreement(const ModelConfig& config, const ModelSpec& spec) : config_(config), spec_(spec) {}

  // A size that the config may define, and the tensors do.
  void require(const std::optional<ConfigSize>& in_config, std::uint64_t in_tensors) const {
    if (in_config && in_config->value != in_tensors)
      refuse(say("{} {}", in_config->key, in_config->value), std::to_string(in_tensors));
  }
  // `what`: the key and its value.
  [[noreturn]] void refuse(const std::string& what, const std::string& held) const {
    throw Failure(say("{}: {} does not fit {}, whose tensors have {}", printable(config_.path),
                      what, printable(spec_.weights), held));
  }

 private:
  const ModelConfig& config_;
  const ModelSpec& spec_;
};

// Checks all sizes but the state's, which depends on the number of groups.
void require_agreement(const ModelConfig& config, const ModelSpec& spec) {
  const Agreement agreement(config, spec);
  if (config.model && *config.model != spec.model)
    agreement.refuse("model_type " + *config.model, spec.model);
  const ModelRow& row = spec.row();
  agreement.require(config.dim, spec.dim);
  agreement.require(config.ffn, spec.ffn);
  if (row.published->shows(&ModelSpec::heads)) agreement.require(config.heads, spec.heads);
  agreement.require(config.taps, spec.taps);
  agreement.require(config.expand, row.expand);
  if (config.head_width) agreement.require(config.head_width, row.expand * spec.dim / spec.heads);
  agreement.require(config.positions, spec.positions);
  agreement.require(config.types, spec.types);
  agreement.require(config.embedding, spec.embedding);
  if (!row.published->one_layer) agreement.require(config.layers, spec.layers);
  const bool is_padded = config.vocabulary && config.vocabulary->value < spec.vocabulary &&
                         spec.vocabulary - config.vocabulary->value < config.vocabulary_multiple;
  if (!is_padded) agreement.require(config.vocabulary, spec.vocabulary);
}

// Divides the states of a spec with one group among the config's groups, whose number the tensors
// do not show.
void adopt_groups(const ModelConfig& config, ModelSpec& spec) {
  const std::uint64_t groups = config.groups->value;
  if (spec.heads % groups != 0 || spec.state % groups != 0) {
    throw Failure(
        say("{}: {} {} does not fit {}; allowed: numbers that divide its {} heads and {} states",
            printable(config.path), config.groups->key, groups, printable(spec.weights), spec.heads,
            spec.state));
  }
  spec.groups = groups;
  spec.state /= groups;
}

// The sizes of the tensors, and what the config adds. The number of groups is that of the flag, or
// that of the config, or 1.
void adopt_config(const ModelConfig& config, const Checkpoint& checkpoint, ModelSpec& spec) {
  if (config.groups && spec.groups != 0 && config.groups->value != spec.groups) {
    throw UsageError(say("--ssm-groups {} does not fit --model-config {}, whose {} is {}",
                         spec.groups, printable(config.path), config.groups->key,
                         config.groups->value));
  }
  if (config.groups) spec.groups = 1;
  checkpoint.take_sizes(spec);
  require_agreement(config, spec);
  if (config.groups) adopt_groups(config, spec);
  Agreement(config, spec).require(config.state, spec.state);
  if (config.heads) spec.heads = config.heads->value;
  if (config.layers) spec.layers = config.layers->value;
  if (config.norm_epsilon) spec.norm_epsilon = *config.norm_epsilon;
  if (config.activation && spec.row().has("mlp")) spec.activation = *config.activation;
}

void adopt_weights(ModelSpec& spec) {
  const std::shared_ptr<const Checkpoint> checkpoint = Checkpoint::open(spec.weights);
  if (!spec.model_config.empty())
    spec.config = std::make_shared<const ModelConfig>(read_model_config(spec.model_config));
  spec.assumes_one_group = spec.groups == 0 && !(spec.config && spec.config->groups);
  if (spec.config) {
    adopt_config(*spec.config, *checkpoint, spec);
  } else {
    checkpoint->take_sizes(spec);
  }
  spec.checkpoint = checkpoint;
}

// The heads of a config that do not divide the width; a flag may have replaced them.
void require_heads_divide_width(const ModelSpec& spec) {
  if (spec.config == nullptr || !spec.config->heads || spec.config->heads->value != spec.heads)
    return;
  const std::uint64_t width = spec.row().expand * spec.dim;
  if (width % spec.heads == 0) return;
  throw Failure(say("{}: {} {} does not divide the width {}; allowed: divisors of {}",
                    printable(spec.config->path), spec.config->heads->key, spec.heads, width,
                    width));
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
    require_heads_divide_width(spec);
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

std::vector<double> layers_from(std::uint64_t first, const ModelSpec& spec) {
  std::vector<double> layers(spec.layers + 1 - first);
  std::iota(layers.begin(), layers.end(), static_cast<double>(first));
  return layers;
}

Unit independent_unit(const ModelSpec& spec) {
  if (spec.checkpoint == nullptr) return Unit::draw;
  return spec.trainings > 1 ? Unit::training : Unit::sequence;
}

std::vector<Contradiction> contradictions(const ModelSpec& spec) {
  std::vector<Contradiction> out;
  const auto compare = [&](const char* flag, std::uint64_t value,
                           const std::optional<ConfigSize>& in_config) {
    if (in_config && in_config->value != value)
      out.push_back(
          {flag, std::to_string(value),
           say("{} of {} is {}", in_config->key, printable(spec.config->path), in_config->value)});
  };
  if (spec.config == nullptr) return out;
  compare("layers", spec.layers, spec.config->layers);
  compare("heads", spec.heads, spec.config->heads);
  return out;
}

std::vector<std::string> assumptions(const ModelSpec& spec) {
  if (!spec.assumes_one_group || !spec.row().has("ssm-groups")) return {};
  return {
      std::string(assumed) +
      "1 group of states, because neither the tensors nor a config show the number; --ssm-groups "
      "N changes it."};
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
    if (spec.row().published->one_layer && !(spec.config && spec.config->layers)) {
      notes.push_back(
          say("Depth: {}, of --layers or its default; neither the tensors nor a config show it.",
              plural(spec.layers, "layer")));
    }
    for (const Contradiction& each : contradictions(spec)) {
      notes.push_back(say("{}--{} {}, although {}.", assumed, each.flag, each.value, each.in_file));
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

// The models of a comparison ----------------------------------------------------------------------

namespace {

constexpr char sizes_allowed[] =
    "allowed after the colon: LAYERS or LAYERSxDIM, integers from 1 to 1000000";

[[noreturn]] void refuse_also(const std::string& word, const std::string& why) {
  throw UsageError(say("--also: '{}' is not allowed; {}", printable_key(word), why));
}

void require_name(const std::string& word, const std::string& name,
                  const std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  refuse_also(word, "allowed: " + joined(names, "|") + did_you_mean(name, names));
}

// Removes a positive integer of at most the largest size from the start of `text` and returns it.
std::uint64_t leading_size(std::string_view& text, const std::string& word) {
  std::uint64_t size = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (error != std::errc() || size == 0 || size > largest_model_size)
    refuse_also(word, sizes_allowed);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return size;
}

// The model of another weights file, on the same tokens. If FILE.config.json exists next to the
// weights, it is used.
ModelSpec stored_model(const std::string& file, const ModelSpec& main) {
  ModelSpec spec;
  spec.weights = file;
  const std::string config = file.substr(0, file.rfind('.')) + ".config.json";
  if (std::filesystem::exists(config)) spec.model_config = config;
  spec.tokens_file = main.tokens_file;
  spec.tokens = main.tokens;
  adopt_files(spec);
  spec.trainings = main.trainings;
  spec.gating = main.gating == "off" && spec.row().has("gating") ? "off" : spec.gating;
  resolve_defaults_with_files(spec);
  return spec;
}

void add_training(StackedModel& model, const ModelSpec& spec, const std::string& word) {
  if (spec.layers != model.spec.layers || spec.dim != model.spec.dim) {
    const auto sizes = [](const ModelSpec& of) {
      return say("{} layers of width {}", of.layers, of.dim);
    };
    refuse_also(word, say("it has {}, but {} has {}; trainings of one model must have equal sizes",
                          sizes(spec), printable(model.spec.weights), sizes(model.spec)));
  }
  model.retrained.push_back(spec);
}

// NAME[+VALUE][:LAYERS[xDIM]]
ModelSpec further_model(const std::string& word, const ModelSpec& main) {
  const FlagWord parsed = parse_flag_word(word);
  const std::vector<std::string> names = parsed.names();
  ModelSpec spec;
  spec.model = names.front();
  require_name(word, spec.model, model_names());
  spec.layers = main.layers;
  spec.tokens = main.tokens;
  spec.dim = main.dim;
  if (names.size() > 1) {
    spec.value_weights = parsed.head.substr(parsed.head.find('+') + 1);
    require_name(word, spec.value_weights, {"orthogonal", "identity"});
    if (!spec.row().draws_values)
      refuse_also(
          word, "allowed with +" + spec.value_weights + ": " +
                    joined(models_that([](const ModelRow& row) { return row.draws_values; }), "|"));
  }
  if (parsed.value) {
    std::string_view sizes = *parsed.value;
    spec.layers = leading_size(sizes, word);
    if (!sizes.empty() && sizes.front() == 'x') {
      sizes.remove_prefix(1);
      spec.dim = leading_size(sizes, word);
    }
    if (!sizes.empty()) refuse_also(word, sizes_allowed);
  }
  resolve_defaults(spec);
  return spec;
}

}  // namespace

std::vector<StackedModel> stacked_models(const ModelSpec& main,
                                         const std::vector<std::string>& also) {
  std::vector<StackedModel> models = {{main, model_label(main)}};
  if (!also.empty()) models.front().at = At("model", model_label(main), "");
  for (const std::string& word : also) {
    const ModelSpec spec =
        names_weights(word) ? stored_model(word, main) : further_model(word, main);
    const std::string label = model_label(spec);
    const auto same = std::find_if(models.begin(), models.end(),
                                   [&](const StackedModel& other) { return other.label == label; });
    if (same == models.end()) {
      models.push_back({spec, label, At("model", label)});
    } else if (names_weights(word) && same->spec.checkpoint != nullptr) {
      add_training(*same, spec, word);
    } else {
      refuse_also(word, same == models.begin() ? "it is the model of --model; allowed: other models"
                                               : "the model is in the list twice");
    }
  }
  for (const StackedModel& model : models) {
    if (model.retrained.size() + 1 == main.trainings) continue;
    throw UsageError(say("--also: {} of {}, but {} of {}; allowed: the same number for every model",
                         plural(model.retrained.size() + 1, "training"), model.label,
                         main.trainings, models.front().label));
  }
  return models;
}

// Weights and input -------------------------------------------------------------------------------

namespace {

std::vector<std::uint32_t> given_ids(const ModelSpec& spec, std::uint64_t row) {
  std::vector<std::uint32_t> ids = spec.sequences->at(row);
  if (ids.size() > spec.tokens) ids.resize(spec.tokens);
  for (const std::uint32_t id : ids) {
    if (id < spec.vocabulary) continue;
    throw Failure(
        say("{}token id {} of sequence {} is not in the vocabulary of {}, whose ids are 0 to {}",
            spec.tokens_file.empty() ? "" : printable(spec.tokens_file) + ": ", id, row + 1,
            spec.vocabulary, spec.vocabulary - 1));
  }
  return ids;
}

std::vector<std::uint32_t> drawn_ids(const ModelSpec& spec, const Trial& trial) {
  Stream stream = trial.stream("tokens");
  if (spec.zipf > 0) return ZipfLaw(spec.vocabulary, spec.zipf).draw(spec.tokens, stream);
  return draw_ids(spec.vocabulary, spec.tokens, stream);
}

template <class T>
arma::Mat<T> gaussian_input(const ModelSpec& spec, Tensors<T>& tensors) {
  return tensors.matrix("X", spec.dim, spec.tokens, EntryLaw::normal(1.0));
}

// Tokens sqrt(d) v + width g, whose directions lie around one unit vector v. The entries have about
// the same size as those of the Gaussian input.
template <class T>
arma::Mat<T> cone_input(const ModelSpec& spec, Tensors<T>& tensors) {
  arma::Col<T> axis = tensors.vector("cone.axis", spec.dim, EntryLaw::normal(1.0));
  axis *= static_cast<T>(std::sqrt(static_cast<double>(spec.dim))) / arma::norm(axis);
  arma::Mat<T> X = static_cast<T>(spec.cone_width) * gaussian_input(spec, tensors);
  X.each_col() += axis;
  return X;
}

template <class T>
arma::Mat<T> token_input(const ModelSpec& spec, const Trial& trial, Tensors<T>& tensors,
                         Dropout* dropout) {
  return embed_tokens(
      spec, tensors,
      spec.sequences != nullptr ? given_ids(spec, trial.index()) : drawn_ids(spec, trial), dropout);
}

}  // namespace

template <class T>
std::unique_ptr<Tensors<T>> tensors_of_layer(const ModelSpec& spec, const Trial& trial,
                                             std::uint64_t layer) {
  if (spec.checkpoint != nullptr)
    return std::make_unique<LoadedTensors<T>>(spec.checkpoint, prefix_of_layer(spec, layer));
  return std::make_unique<DrawnTensors<T>>(block_tensors<T>(spec, trial, layer));
}

template <class T>
std::unique_ptr<Tensors<T>> tensors_of_embedding(const ModelSpec& spec, const Trial& trial) {
  if (spec.checkpoint != nullptr) return std::make_unique<LoadedTensors<T>>(spec.checkpoint, "");
  return std::make_unique<DrawnTensors<T>>(trial, "");
}

template <class T>
State<T> draw_input(const ModelSpec& spec, const Trial& trial, double dropout) {
  DrawnTensors<T> tensors(trial, "");
  State<T> state;
  if (dropout > 0) state.dropout.emplace(dropout, trial.stream("dropout"));
  if (spec.input == "tokens") {
    state.Y = token_input<T>(spec, trial, *tensors_of_embedding<T>(spec, trial),
                             state.dropout ? &*state.dropout : nullptr);
  }
  if (spec.input == "cone") state.Y = cone_input(spec, tensors);
  if (spec.input == "gaussian") state.Y = gaussian_input(spec, tensors);
  if (spec.row().bare && spec.norm == "rows") state.degenerate_rows += normalize_rows(state.Y);
  return state;
}

template std::unique_ptr<Tensors<float>> tensors_of_layer(const ModelSpec&, const Trial&,
                                                          std::uint64_t);
template std::unique_ptr<Tensors<double>> tensors_of_layer(const ModelSpec&, const Trial&,
                                                           std::uint64_t);
template std::unique_ptr<Tensors<float>> tensors_of_embedding(const ModelSpec&, const Trial&);
template std::unique_ptr<Tensors<double>> tensors_of_embedding(const ModelSpec&, const Trial&);
template State<float> draw_input(const ModelSpec&, const Trial&, double);
template State<double> draw_input(const ModelSpec&, const Trial&, double);

}  // namespace ranklab
