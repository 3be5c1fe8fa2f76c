#include "core/error.hpp"
#include "core/text.hpp"
#include "experiments/rank_collapse/layers/gradients.hpp"
#include "experiments/rank_collapse/layers/layers.hpp"
#include "experiments/rank_collapse/model_fields.hpp"
#include "experiments/rank_collapse/model_files.hpp"
#include "nn/blocks/model_row.hpp"

namespace ranklab::layers {
namespace {

std::vector<DepthCurve> curves_of(const LayersConfig& config, const ModelSpec& spec,
                                  const std::string& prefix) {
  std::vector<DepthCurve> curves;
  // A list with one value per layer fits only models as deep as the main model.
  const bool fits = spec.layers == config.model.layers;
  const bool per_layer_lambda = fits && !config.lambda_per_layer.empty();
  if (config.de_escalates()) {
    const std::vector<double>& lambda = per_layer_lambda ? config.lambda_per_layer : config.lambda;
    for (const double tau : config.tau)
      curves.push_back({prefix + "tau=" + series_number(tau), lambda, {tau}});
    if (fits && !config.tau_per_layer.empty())
      curves.push_back({prefix + "tau=per-layer", lambda, config.tau_per_layer});
    return curves;
  }
  for (const double lambda : config.lambda)
    curves.push_back({prefix + "lambda=" + series_number(lambda), {lambda}});
  if (per_layer_lambda) curves.push_back({prefix + "lambda=per-layer", config.lambda_per_layer});
  if (config.dropout > 0)
    curves.push_back(
        {prefix + "dropout=" + series_number(config.dropout), {1}, {}, config.dropout});
  return curves;
}

// One plan for each training; one plan if the weights are drawn.
std::vector<Plan> plans_of(const LayersConfig& config) {
  std::vector<Plan> plans;
  const std::vector<StackedModel> models = stacked_models(config.model, config.also);
  for (std::uint64_t training = 0; training < config.model.trainings; ++training) {
    Plan plan{{}, config.de_escalates(), config.dropout > 0, config.gradients, config.threshold};
    for (const StackedModel& model : models) {
      plan.groups.push_back(
          {model.training(training), curves_of(config, model.spec, model.prefix)});
    }
    plans.push_back(std::move(plan));
  }
  return plans;
}

Plan plan_of(const LayersConfig& config) {
  return plans_of(config).front();
}

std::vector<double> default_lambda(const LayersConfig& config) {
  if (config.de_escalates()) return {1};
  if (!config.lambda_per_layer.empty()) return {};
  return config.model.row().lambda_varies ? std::vector<double>{-2, -1, -0.5, 0, 0.5, 1, 2}
                                          : std::vector<double>{1};
}

void require_length(const std::vector<double>& per_layer, const std::string& flag,
                    std::uint64_t layers) {
  if (per_layer.empty() || per_layer.size() == layers) return;
  throw UsageError(flag + ": " + std::to_string(per_layer.size()) +
                   " values are not allowed with --layers " + std::to_string(layers) +
                   "; allowed: one value per layer");
}

void require_dropout(const Plan& plan) {
  const auto refuse = [](const std::string& conflict, const std::string& allowed) {
    throw UsageError("--dropout is not allowed with " + conflict + "; allowed: " + allowed);
  };
  if (plan.de_escalates) refuse("--tau", "only --lambda");
  for (const DepthGroup& group : plan.groups) {
    if (!is_encoder(group.spec.row()))
      refuse("the model " + model_label(group.spec), joined(models_that(is_encoder), "|"));
  }
}

class LayersStudy : public Study {
 public:
  std::vector<Field> fields() override {
    std::vector<Field> fields = {precision_field(config_.precision)};
    for (Field& field : model_fields(config_.model)) fields.push_back(std::move(field));
    const std::vector<Field> study_fields = {
        or_empty(real_list_field("lambda", config_.lambda, -1e12, 1e12, "lambda",
                                 "strengths of the skip, one curve per value")),
        or_empty(with_repeats(real_list_field("lambda-per-layer", config_.lambda_per_layer, -1e12,
                                              1e12, "lambda",
                                              "one more curve, with one skip strength per layer"))),
        or_empty(real_list_field("tau", config_.tau, 0.0, 1.0, "tau",
                                 "strengths of de-escalation, one curve per value")),
        or_empty(with_repeats(
            real_list_field("tau-per-layer", config_.tau_per_layer, 0.0, 1.0, "tau",
                            "one more curve, with one de-escalation strength per block"))),
        also_field(config_.also),
        real_field(
            "dropout", config_.dropout, 0.0, 0.9, "",
            "encoders: one more curve, with lambda = 1 and this dropout rate, as in training"),
        switch_field("gradients", config_.gradients,
                     "encoders: also measure the gradient norm of each block's weights"),
        real_field("threshold", config_.threshold, 0.0, 1.0, "",
                   "tokens count as collapsed if mu_normalized or rank_one_residual is below it"),
    };
    fields.insert(fields.end(), study_fields.begin(), study_fields.end());
    for (Field& field : file_fields(config_.model)) fields.push_back(std::move(field));
    return fields;
  }

  void adopt_files() override { ranklab::adopt_files(config_.model, config_.also); }
  std::uint64_t trials_in_files() const override { return ranklab::trials_in_files(config_.model); }

  void resolve_defaults() override {
    resolve_defaults_with_files(config_.model);
    if (config_.lambda.empty()) config_.lambda = default_lambda(config_);
  }

  void validate() const override {
    require_length(config_.lambda_per_layer, "--lambda-per-layer", config_.model.layers);
    require_length(config_.tau_per_layer, "--tau-per-layer", config_.model.layers);
    if (config_.de_escalates() && config_.lambda.size() > 1) {
      throw UsageError("--lambda: a list is not allowed with --tau; allowed: one value");
    }
    const Plan plan = plan_of(config_);
    if (plan.has_dropout) require_dropout(plan);
    if (plan.gradients) require_encoders(plan.groups);
  }

  Estimate estimate() const override {
    const Plan plan = plan_of(config_);
    return plan.gradients ? cost_with_gradients(plan.groups) : depth_cost(plan.groups);
  }

  Work work() const override {
    const bool single = config_.single_precision();
    if (config_.model.trainings > 1) {
      return each_trial([plans = plans_of(config_), single](Trial& trial) {
        const Plan& training = plans.at(trial.index());
        return run_training(
            training.model(), training.curve_names(), trial,
            [&](const std::vector<Trial>& sequences) {
              if (!training.gradients) return run_groups(training.groups, sequences, single);
              Records records;
              for (const Trial& sequence : sequences)
                records.push_back(run_with_gradients(training.groups, sequence, single));
              return records;
            });
      });
    }
    const Plan plan = plan_of(config_);
    if (plan.gradients) {
      return each_trial(
          [plan, single](Trial& trial) { return run_with_gradients(plan.groups, trial, single); });
    }
    return in_batches(trials_per_batch(config_.model), [plan, single](std::vector<Trial>& trials) {
      return run_groups(plan.groups, trials, single);
    });
  }
  Result report(const Records& records) const override {
    return with_rounding_note(layers::report(plan_of(config_), records),
                              config_.single_precision());
  }

 private:
  LayersConfig config_;
};

}  // namespace
}  // namespace ranklab::layers

std::unique_ptr<ranklab::Study> ranklab::make_layers_study() {
  return std::make_unique<layers::LayersStudy>();
}
