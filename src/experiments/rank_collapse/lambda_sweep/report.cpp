#include <cmath>
#include <limits>

#include "core/statistics.hpp"
#include "core/text.hpp"
#include "experiments/rank_collapse/lambda_sweep/lambda_sweep.hpp"
#include "experiments/rank_collapse/model_files.hpp"

namespace ranklab::lambda_sweep {
namespace {

void add_scalars(const Plan& plan, ResultBuilder& out) {
  std::vector<double> degenerate(out.records().size(), 0.0), diverged = degenerate;
  for (const StackedModel& model : plan.models) {
    for (const Sign& sign : signs) out.scalar(model.prefix + sign.smallest_lambda);
    if (has_theorem(model, out.records())) {
      for (const char* name : {theorem_S, theorem_C_M, theorem_rate, theorem_condition, theorem_lambda}) {
        out.scalar(model.prefix + name);
      }
      for (const Sign& sign : signs) {
        out.scalar(model.prefix + sign.orders_of_magnitude, orders_of_magnitude(model, sign, out.records()));
      }
    }
    for (std::size_t t = 0; t < degenerate.size(); ++t) {
      degenerate[t] += out.records()[t].scalar(model.prefix + degenerate_rows);
      diverged[t] += out.records()[t].scalar(model.prefix + diverged_curves);
    }
  }
  out.scalar(degenerate_rows, degenerate);
  out.scalar(diverged_curves, diverged);
  out.diverged_where(diverged_curves);
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
      panel.curve(model.prefix + at_last_layer(what), model.label, {LineStyle::line_points});
    }
    panel.line(plan.threshold, "threshold");
  }
}

}  // namespace

bool has_theorem(const StackedModel& model, const Records& records) {
  return records.front().has(model.prefix + theorem_lambda);
}

std::vector<double> orders_of_magnitude(const StackedModel& model, const Sign& sign, const Records& records) {
  return per_trial(records, [&](const TrialRecord& record) {
    const double smallest = record.scalar(model.prefix + sign.smallest_lambda);
    return smallest > 0 ? std::log10(record.scalar(model.prefix + theorem_lambda) / smallest)
                        : std::numeric_limits<double>::quiet_NaN();
  });
}

Result report(const Plan& plan, const Records& records) {
  const ModelSpec& main = plan.models.front().spec;
  ResultBuilder out("The last layer against the strength of the skip, " + main.model, records);
  if (records.empty()) return out.take();  // interrupted before the end of a trial
  add_scalars(plan, out);
  for (std::string& note : file_notes(main)) out.note(std::move(note));
  for (const StackedModel& model : plan.models) {
    for (const char* what : swept_measures) out.series(model.prefix + at_last_layer(what), "lambda", plan.lambda);
    for (const char* what : swept_measures) out.series(model.prefix + least_over_layers(what), "lambda", plan.lambda);
    out.note(threshold_note(model, plan.threshold, records));
  }
  judge(plan, records, out.claims());
  add_figure(plan, out);
  return out.take();
}

}  // namespace ranklab::lambda_sweep
