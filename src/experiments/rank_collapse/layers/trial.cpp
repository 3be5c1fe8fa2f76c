#include "core/text.hpp"
#include "experiments/rank_collapse/depth/run.hpp"
#include "experiments/rank_collapse/layers/layers.hpp"
#include "experiments/rank_collapse/model_fields.hpp"

namespace ranklab::layers {
namespace {

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
  for (const double lambda : config.lambda) curves.push_back({prefix + "lambda=" + series_number(lambda), {lambda}});
  if (per_layer_lambda) curves.push_back({prefix + "lambda=per-layer", config.lambda_per_layer});
  return curves;
}

}  // namespace

Plan plan_of(const LayersConfig& config) {
  Plan plan{{}, config.de_escalates(), config.threshold};
  for (const StackedModel& model : stacked_models(config.model, config.also)) {
    plan.groups.push_back({model.spec, curves_of(config, model.spec, model.prefix)});
  }
  return plan;
}

Records run_batch(const Plan& plan, const std::vector<Trial>& trials, bool single_precision) {
  Records records(trials.size());
  for (const DepthGroup& group : plan.groups) {
    const auto traces = run_trials(group.spec, {trials.size(), group.curves}, trials, single_precision);
    for (std::size_t t = 0; t < trials.size(); ++t) {
      for (std::size_t c = 0; c < group.curves.size(); ++c) record_trace(group.curves[c].name, traces[t][c], records[t]);
    }
  }
  return records;
}

}  // namespace ranklab::layers
