#include <algorithm>

#include "core/statistics.hpp"
#include "core/text.hpp"
#include "experiments/rank_collapse/figure_labels.hpp"
#include "experiments/rank_collapse/lambda_sweep/lambda_sweep.hpp"
#include "experiments/rank_collapse/model_fields.hpp"
#include "experiments/rank_collapse/model_files.hpp"

namespace ranklab::lambda_sweep {
namespace {

Plan plan_of(const LambdaSweepConfig& config) {
  Plan plan{stacked_models(config.model, config.also), config.lambda, config.threshold,
            config.refine, config.single_precision()};
  std::sort(plan.lambda.begin(), plan.lambda.end());
  return plan;
}

// The same plan with the weights of one training.
Plan plan_of_training(Plan plan, std::uint64_t training) {
  for (StackedModel& model : plan.models) model.spec = model.training(training);
  return plan;
}

// The result --------------------------------------------------------------------------------------

void add_scalars(const Plan& plan, ResultBuilder& out) {
  for (const StackedModel& model : plan.models) {
    for (const Sign& sign : signs) out.scalar(model.prefix + sign.smallest_lambda);
    if (!out.records().front().has(model.prefix + theorem_lambda)) continue;
    for (const char* name :
         {theorem_S, theorem_C_M, theorem_rate, theorem_condition, theorem_lambda}) {
      out.scalar(model.prefix + name);
    }
    for (const Sign& sign : signs) out.scalar(model.prefix + sign.orders_of_magnitude);
  }
  out.scalars({degenerate_rows, diverged});
  out.diverged_where(diverged);
}

std::string threshold_note(const StackedModel& model, double threshold, const Records& records) {
  const auto text = [&](const Sign& sign) {
    const Summary summary = summarize(scalars_of(records, model.prefix + sign.smallest_lambda));
    return summary.n == 0 ? std::string("none of the list") : short_number(summary.mean);
  };
  return model.label +
         ": smallest abs(lambda) that keeps mu_normalized and rank_one_residual above " +
         short_number(threshold) + " at all " + std::to_string(model.spec.layers) +
         " layers: " + text(signs[0]) + " (lambda > 0), " + text(signs[1]) + " (lambda < 0).";
}

// The model's label; says that W_V is random if the same model with another C_V is in the list.
std::string curve_label(const Plan& plan, const ModelSpec& spec) {
  const bool another =
      std::any_of(plan.models.begin(), plan.models.end(), [&](const StackedModel& other) {
        return other.spec.model == spec.model && other.spec.value_weights != spec.value_weights;
      });
  const bool random = spec.value_weights == "gaussian";
  return figure_label(spec) + (another && random ? ", random W_V" : "");
}

void add_panel(const Plan& plan, const char* measure, const std::string& title, Axis axis,
               ResultBuilder& out) {
  constexpr std::size_t most_markers = 12;
  const LineStyle style =
      plan.lambda.size() <= most_markers ? LineStyle::line_points : LineStyle::line;
  const BandKind band = band_of_trials(plan.models.front().spec, out.records().size());
  PanelBuilder panel = out.panel(title, {"lambda (strength of the skip)"}, std::move(axis));
  for (const StackedModel& model : plan.models) {
    panel.curve(model.prefix + at_last_layer + measure, curve_label(plan, model.spec),
                {.style = style, .band = band});
  }
  panel.line(plan.threshold, threshold_label(plan.threshold));
}

void add_figure(const Plan& plan, ResultBuilder& out) {
  add_panel(plan, measure::mu_normalized, "Normalized mu after the last layer",
            normalized_mu_axis(), out);
  out.next_figure("Distance from rank one after the last layer");
  add_panel(plan, measure::rank_one_residual, "Rank-one residual after the last layer",
            rank_one_residual_axis(), out);
}

Result report(const Plan& plan, const Records& records) {
  const ModelSpec& main = plan.models.front().spec;
  ResultBuilder out("The last layer against the strength of the skip, " + main.model, records);
  out.claims().set_unit(independent_unit(main));
  add_scalars(plan, out);
  for (std::string& note : file_notes(main)) out.note(std::move(note));
  for (const StackedModel& model : plan.models) {
    for (const char* what : swept_measures)
      out.series(model.prefix + at_last_layer + what, "lambda", plan.lambda);
    for (const char* what : swept_measures)
      out.series(model.prefix + least_over_layers + what, "lambda", plan.lambda);
    out.note(threshold_note(model, plan.threshold, records));
  }
  judge(plan, records, out.claims());
  add_figure(plan, out);
  return out.take();
}

class LambdaSweepStudy : public Study {
 public:
  std::vector<Field> fields() override {
    std::vector<Field> fields = {precision_field(config_.precision)};
    for (Field& field : model_fields(config_.model)) fields.push_back(std::move(field));
    for (Field& field : file_fields(config_.model)) fields.push_back(std::move(field));
    fields.push_back(
        real_list_field("lambda", config_.lambda, -1e12, 1e12, "lambda", "strengths of the skip"));
    fields.push_back(also_field(config_.also));
    fields.push_back(real_field(
        "threshold", config_.threshold, 0.0, 1.0, "",
        "tokens are kept apart if mu_normalized and rank_one_residual exceed it at every layer"));
    fields.push_back(size_field("refine", config_.refine, 0, 1000, "",
                                "number of further strengths per sign, between the largest that "
                                "collapses and the smallest that does not"));
    return fields;
  }

  void adopt_files() override { ranklab::adopt_files(config_.model, config_.also); }
  std::uint64_t trials_in_files() const override { return ranklab::trials_in_files(config_.model); }
  void resolve_defaults() override { resolve_defaults_with_files(config_.model); }

  void validate() const override { stacked_models(config_.model, config_.also); }

  Estimate estimate() const override {
    const Plan plan = plan_of(config_);
    std::vector<DepthGroup> groups;
    for (const StackedModel& model : plan.models) {
      groups.push_back({model.spec, std::vector<DepthCurve>(plan.lambda.size() + 2 * plan.refine)});
    }
    return depth_cost(groups);
  }

  Work work() const override {
    const Plan plan = plan_of(config_);
    if (config_.model.trainings > 1) {
      return each_trial([this, plan](Trial& trial) {
        const Plan with_weights = plan_of_training(plan, trial.index());
        return run_training(config_.model, {}, trial, [&](const std::vector<Trial>& sequences) {
          return run_batch(with_weights, sequences);
        });
      });
    }
    return in_batches(trials_per_batch(config_.model),
                      [plan](std::vector<Trial>& trials) { return run_batch(plan, trials); });
  }
  Result report(const Records& records) const override {
    const Plan plan = plan_of(config_);
    return with_rounding_note(lambda_sweep::report(plan, records), plan.single_precision);
  }

 private:
  LambdaSweepConfig config_;
};

}  // namespace
}  // namespace ranklab::lambda_sweep

std::unique_ptr<ranklab::Study> ranklab::make_lambda_sweep_study() {
  return std::make_unique<lambda_sweep::LambdaSweepStudy>();
}
