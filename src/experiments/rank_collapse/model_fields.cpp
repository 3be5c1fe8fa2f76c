#include "experiments/rank_collapse/model_fields.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>

#include "core/error.hpp"
#include "core/flag_word.hpp"
#include "core/text.hpp"
#include "experiments/rank_collapse/model_files.hpp"
#include "nn/blocks/model_row.hpp"

namespace ranklab {
namespace {

// A choice whose value is "own" until the model is known. Users cannot choose "own".
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
    require_name(word, spec.value_weights, {"gaussian", "orthogonal", "identity"});
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

std::vector<Field> model_fields(ModelSpec& spec, const std::vector<std::string>& offered) {
  const ModelRow& model = spec.row();
  const std::string input = spec.input == "own" ? model.input : spec.input;
  const auto only = [](bool applies, std::string needs) {
    return [applies, needs](Field field) { return only_if(applies, needs, std::move(field)); };
  };
  // Those that the study can run.
  const auto needs = [&](std::vector<std::string> names) {
    std::erase_if(names, [&](const std::string& name) {
      return std::find(offered.begin(), offered.end(), name) == offered.end();
    });
    return names.empty() ? "a model that this study does not have"
                         : "--model " + alternatives(std::move(names));
  };
  const auto of_models = [&](Field field) {
    const bool applies = model.has(field.name);
    const std::string models = needs(models_with(field.name));
    return only_if(applies, models, std::move(field));
  };
  const auto of_heads = only(model.has_heads,
                             needs(models_that([](const ModelRow&row) { return row.has_heads; }))),
             of_feed_forward = only(model.has("mlp") && spec.mlp != "off",
                                    needs(models_with("mlp")) + ", with --mlp on"),
             of_embedding =
                 only(model.embeds_narrowly,
                      needs(models_that([](const ModelRow&row) { return row.embeds_narrowly; }))),
             of_tokens = only(input == "tokens" && spec.tokens_file.empty(),
                              "--input tokens, and no --tokens-file"),
             of_cone = only(input == "cone", "--input cone");
  std::vector<Field> fields = {
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
      of_embedding(model_default_size_field(
          "embedding", spec.embedding, "",
          joined(models_that([](const ModelRow& row) { return row.embeds_narrowly; })) +
              ": width of the token embedding")),
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
      of_models(choice_field("value-weights", spec.value_weights,
                             {"gaussian", "orthogonal", "identity"}, "C_V",
                             "attention, linear-attention: distribution of W_V")),
      of_models(
          switch_field("causal", spec.causal,
                       "attention, linear-attention: tokens attend only to themselves and earlier "
                       "tokens")),
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
  // The model is that of the weights, which are not read yet.
  if (!spec.weights.empty() && spec.checkpoint == nullptr) {
    for (Field& field : fields) field.needs.clear();
  }
  return fields;
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

std::vector<StackedModel> stacked_models(const ModelSpec& main,
                                         const std::vector<std::string>& also) {
  std::vector<StackedModel> models = {{main, model_label(main), ""}};
  for (const std::string& word : also) {
    const ModelSpec spec =
        names_weights(word) ? stored_model(word, main) : further_model(word, main);
    const std::string label = model_label(spec);
    const auto same = std::find_if(models.begin(), models.end(),
                                   [&](const StackedModel& other) { return other.label == label; });
    if (same == models.end()) {
      models.push_back({spec, label, label + "."});
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
                         counted(model.retrained.size() + 1, "training"), model.label,
                         main.trainings, models.front().label));
  }
  return models;
}

}  // namespace ranklab
