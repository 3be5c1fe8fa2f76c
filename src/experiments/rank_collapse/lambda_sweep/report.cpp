#include "core/statistics.hpp"
#include "core/text.hpp"
#include "experiments/rank_collapse/lambda_sweep/lambda_sweep.hpp"
#include "experiments/rank_collapse/model_files.hpp"

namespace ranklab::lambda_sweep {
namespace {

void add_scalars(const Plan& plan, ResultBuilder& out) {
  for (const StackedModel& model : plan.models) {
    for (const Sign& sign : signs) out.scalar(model.prefix + sign.smallest_lambda);
    if (!out.records().front().has(model.prefix + theorem_lambda)) continue;
    for (const char* name : {theorem_S, theorem_C_M, theorem_rate, theorem_condition, theorem_lambda}) {
      out.scalar(model.prefix + name);
    }
    for (const Sign& sign : signs) out.scalar(model.prefix + sign.orders_of_magnitude);
  }
  out.scalars({degenerate_rows, diverged});
  out.diverged_where(diverged);
}

std::string threshold_note(const StackedModel& model, double threshold, const Records& records) {
  const auto text = [&](const Sign& sign) {
    const Summary summary = summarise(scalars_of(records, model.prefix + sign.smallest_lambda));
    return summary.n == 0 ? std::string("none in the list") : short_number(summary.mean);
  };
  return model.label + ": from abs(lambda) = " + text(signs[0]) + " on (positive), " + text(signs[1]) +
         " (negative), mu_normalized and rank_one_residual stay above " + short_number(threshold) + " through all " +
         std::to_string(model.spec.layers) + " layers.";
}

void add_figure(const Plan& plan, ResultBuilder& out) {
  for (const auto& [what, label] :
       {std::pair(measure::mu_normalized, "normalised mu"), {measure::rank_one_residual, "rank-one residual"}}) {
    PanelBuilder panel = out.panel(std::string("Last layer: ") + label, {"lambda"}, {label});
    for (const StackedModel& model : plan.models) {
      panel.curve(model.prefix + at_last_layer + what, model.label, {LineStyle::line_points});
    }
    panel.line(plan.threshold, "threshold");
  }
}

}  // namespace

Result report(const Plan& plan, const Records& records) {
  const ModelSpec& main = plan.models.front().spec;
  ResultBuilder out("The last layer against the strength of the skip, " + main.model, records);
  if (records.empty()) return out.take();  // interrupted before the end of a trial
  add_scalars(plan, out);
  for (std::string& note : file_notes(main)) out.note(std::move(note));
  for (const StackedModel& model : plan.models) {
    for (const char* what : swept_measures) out.series(model.prefix + at_last_layer + what, "lambda", plan.lambda);
    for (const char* what : swept_measures) out.series(model.prefix + least_over_layers + what, "lambda", plan.lambda);
    out.note(threshold_note(model, plan.threshold, records));
  }
  judge(plan, records, out.claims());
  add_figure(plan, out);
  return out.take();
}

}  // namespace ranklab::lambda_sweep
