#include "core/text.hpp"
#include "experiments/rank_collapse/layers/config.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "core/error.hpp"
#include "experiments/rank_collapse/layers/report.hpp"
#include "experiments/rank_collapse/model_fields.hpp"
#include "experiments/rank_collapse/model_files.hpp"
#include "models/blocks/model_row.hpp"

namespace ranklab {
namespace {

std::vector<double> own_lambda(const LayersConfig& config) {
  if (config.de_escalates()) return {1};
  if (!config.lambda_per_layer.empty()) return {};
  return config.model.row().lambda_varies ? std::vector<double>{-2, -1, -0.5, 0, 0.5, 1, 2} : std::vector<double>{1};
}

void require_length(const std::vector<double>& per_layer, const std::string& flag, std::uint64_t layers) {
  if (per_layer.empty() || per_layer.size() == layers) return;
  throw UsageError(flag + ": " + std::to_string(per_layer.size()) + " values are not allowed with --layers " +
                   std::to_string(layers) + "; allowed: one for each layer");
}

std::vector<DepthCurve> curves_of(const LayersConfig& config, const ModelSpec& spec, const std::string& prefix) {
  std::vector<DepthCurve> curves;
  // A list for each layer fits the main model's depth alone.
  const bool fits = spec.layers == config.model.layers;
  const bool per_layer_lambda = fits && !config.lambda_per_layer.empty();
  if (config.de_escalates()) {
    const std::vector<double>& lambda = per_layer_lambda ? config.lambda_per_layer : config.lambda;
    for (const double tau : config.tau) curves.push_back({prefix + "tau=" + series_number(tau), lambda, {tau}});
    if (fits && !config.tau_per_layer.empty()) curves.push_back({prefix + "tau=per-layer", lambda, config.tau_per_layer});
    return curves;
  }
  for (const double lambda : config.lambda) curves.push_back({prefix + "lambda=" + series_number(lambda), {lambda}, {}});
  if (per_layer_lambda) curves.push_back({prefix + "lambda=per-layer", config.lambda_per_layer, {}});
  return curves;
}

constexpr char sizes_allowed[] = "after the colon stand LAYERS or LAYERSxDIM, integers from 1 to 1000000";

[[noreturn]] void refuse_also(const std::string& word, const std::string& why) {
  throw UsageError("--also: '" + word + "' is not allowed; " + why);
}

void require_name(const std::string& word, const std::string& name, const std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  refuse_also(word, "allowed: " + joined(names, "|") + did_you_mean(name, names));
}

// A positive integer of at most the largest size from the start of `text`, which loses it.
std::uint64_t leading_size(std::string_view& text, const std::string& word) {
  std::uint64_t size = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (error != std::errc() || size == 0 || size > largest_size) refuse_also(word, sizes_allowed);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return size;
}

// NAME[+VALUE][:LAYERS[xDIM]]
ModelSpec further_model(const std::string& word, const ModelSpec& main) {
  const std::size_t colon = word.find(':'), plus = word.find('+');
  ModelSpec spec;
  spec.model = word.substr(0, std::min(colon, plus));
  require_name(word, spec.model, model_names());
  spec.layers = main.layers;
  spec.tokens = main.tokens;
  spec.dim = main.dim;
  if (plus < colon) {
    spec.value_weights = word.substr(plus + 1, colon == std::string::npos ? colon : colon - plus - 1);
    require_name(word, spec.value_weights, {"gaussian", "orthogonal", "identity"});
  }
  if (colon != std::string::npos) {
    std::string_view sizes = std::string_view(word).substr(colon + 1);
    spec.layers = leading_size(sizes, word);
    if (!sizes.empty() && sizes.front() == 'x') {
      sizes.remove_prefix(1);
      spec.dim = leading_size(sizes, word);
    }
    if (!sizes.empty()) refuse_also(word, sizes_allowed);
  }
  settle(spec);
  return spec;
}

class LayersStudy : public Study {
 public:
  std::vector<Field> fields() override {
    std::vector<Field> fields = model_fields(config_.model);
    const std::vector<Field> own = {
        or_empty(real_list_field("lambda", config_.lambda, -1e12, 1e12, "lambda", "strengths of the skip, one curve for each")),
        or_empty(with_repeats(real_list_field("lambda-per-layer", config_.lambda_per_layer, -1e12, 1e12, "lambda",
                                              "one more curve, with a strength for each layer"))),
        or_empty(real_list_field("tau", config_.tau, 0.0, 1.0, "tau", "strengths of de-escalation, one curve for each")),
        or_empty(with_repeats(real_list_field("tau-per-layer", config_.tau_per_layer, 0.0, 1.0, "tau",
                                              "one more curve, with a strength for each block"))),
        also_field(config_.also),
        real_field("threshold", config_.threshold, 0.0, 1.0, "", "below it mu_normalized or rank_one_residual counts as collapsed"),
    };
    fields.insert(fields.end(), own.begin(), own.end());
    for (Field& field : file_fields(config_.model)) fields.push_back(std::move(field));
    return fields;
  }

  void adopt_files() override {
    ranklab::adopt_files(config_.model);
    // A preset's further models are drawn: beside published weights they are not meant unless a flag says so.
    if (config_.model.checkpoint != nullptr) config_.also.clear();
  }
  std::uint64_t trials_in_files() const override { return sequences_in_files(config_.model); }

  void settle() override {
    settle_with_files(config_.model);
    if (config_.lambda.empty()) config_.lambda = own_lambda(config_);
  }

  void validate() const override {
    require_length(config_.lambda_per_layer, "--lambda-per-layer", config_.model.layers);
    require_length(config_.tau_per_layer, "--tau-per-layer", config_.model.layers);
    if (config_.de_escalates() && config_.lambda.size() > 1) {
      throw UsageError("--lambda: a list is not allowed beside --tau; allowed: one value");
    }
    further_models(config_.also, config_.model);
  }

  Estimate estimate() const override { return depth_cost(depth_groups(config_)); }

  Result run(Runner& runner) const override {
    const bool single = runner.single_precision();
    const auto records = runner.run_batches(trials_per_batch(config_.model), [&](std::vector<Trial>& trials) {
      return single ? measure<float>(trials) : measure<double>(trials);
    });
    return layers_result(config_, records);
  }

 private:
  template <class T>
  std::vector<TrialRecord> measure(const std::vector<Trial>& trials) const {
    std::vector<TrialRecord> records(trials.size());
    for (const DepthGroup& group : depth_groups(config_)) {
      const auto traces = run_trials<T>(group.spec, {trials.size(), group.curves}, trials, config_.de_escalates());
      for (std::size_t t = 0; t < trials.size(); ++t) {
        for (std::size_t c = 0; c < group.curves.size(); ++c) record_trace(group.curves[c].name, traces[t][c], records[t]);
      }
    }
    return records;
  }

  LayersConfig config_;
};

}  // namespace

std::string model_label(const ModelSpec& spec) {
  return spec.value_weights == "gaussian" ? spec.model : spec.model + "+" + spec.value_weights;
}

Field also_field(std::vector<std::string>& also) {
  Field field{
      "also", &also, "",
      "further models to draw beside, each NAME, NAME:LAYERS, NAME:LAYERSxDIM or NAME+C_V (attention+identity:64x256), otherwise "
      "of the same --layers, --tokens and --dim"};
  return or_empty(field);
}

std::vector<ModelSpec> further_models(const std::vector<std::string>& also, const ModelSpec& main) {
  std::vector<ModelSpec> models;
  for (const std::string& word : also) {
    const ModelSpec spec = further_model(word, main);
    const auto same = [&](const ModelSpec& other) { return model_label(other) == model_label(spec); };
    if (same(main)) refuse_also(word, "it is --model");
    if (std::any_of(models.begin(), models.end(), same)) refuse_also(word, "the model stands twice in the list");
    models.push_back(spec);
  }
  return models;
}

std::vector<DepthGroup> depth_groups(const LayersConfig& config) {
  std::vector<DepthGroup> groups = {{config.model, curves_of(config, config.model, "")}};
  for (const ModelSpec& spec : further_models(config.also, config.model)) {
    groups.push_back({spec, curves_of(config, spec, model_label(spec) + ".")});
  }
  return groups;
}

std::unique_ptr<Study> make_layers_study() {
  return std::make_unique<LayersStudy>();
}

}  // namespace ranklab
