#include "experiments/spike_plus_bulk/gradient_rank/report.hpp"

#include <cmath>
#include <string>

#include "core/text.hpp"
#include "experiments/spike_plus_bulk/gradient_rank/claims.hpp"
#include "experiments/spike_plus_bulk/gradient_rank/judges.hpp"
#include "experiments/spike_plus_bulk/gradient_rank/trial.hpp"

namespace ranklab {
namespace {

using namespace gradient_rank;
using Records = std::vector<TrialRecord>;

void add_scalars(Result& result, const GradientRankConfig& config, LabelModel model, const Records& records) {
  std::vector<std::string> names = {
      "nuclear_rank_0",       "nuclear_rank_1",        "stable_rank_A",  "condition_T", "condition_T_bound",
      "nuclear_rank_0_bound", "nuclear_rank_1_offset", "nuclear_rank_W", "B_norm",      "spike",
      "bulk_smallest",        "bulk_largest",          "window_start",   "window_end",  "minimum_ratio"};
  if (model == LabelModel::teacher) names.insert(names.end(), {"cross_spike", "cross_bulk_largest", "cross_bulk_d"});
  for (const std::uint64_t k : ascending_k(config)) {
    for (const std::string& name : names) result.scalars.push_back({at_k(k, name), scalars_of(records, at_k(k, name))});
  }
  for (const std::string name : {"nuclear_rank_0", "nuclear_rank_1"}) {
    Scalar slope{"slope_" + name, {}}, exponent{"exponent_" + name, {}};
    for (const LineFit& fit : fits_over_k(config, records, recorded(name), fit_line)) slope.per_trial.push_back(fit.slope);
    for (const LineFit& fit : fits_over_k(config, records, recorded(name), fit_power)) exponent.per_trial.push_back(fit.slope);
    result.scalars.push_back(std::move(slope));
    result.scalars.push_back(std::move(exponent));
  }
  result.scalars.push_back({"closed_form_error", scalars_of(records, "closed_form_error")});
}

void add_series(Result& result, const GradientRankConfig& config, const Records& records) {
  const std::vector<std::uint64_t> k = ascending_k(config), steps = sampled_steps(config);
  for (const std::uint64_t each : k) {
    const std::string name = at_k(each, "nuclear_rank");
    result.series.push_back(
        series_over_trials(name, "iteration", std::vector<double>(steps.begin(), steps.end()), arrays_of(records, name)));
  }
  const std::vector<double> x(k.begin(), k.end());
  for (const std::string name : {"nuclear_rank_0", "nuclear_rank_1", "stable_rank_A"}) {
    std::vector<std::vector<double>> measured;
    for (const TrialRecord& record : records) {
      measured.emplace_back();
      for (const std::uint64_t each : k) measured.back().push_back(record.scalar(at_k(each, name)));
    }
    result.series.push_back(series_over_trials(name, "k", x, measured));
    if (name == "stable_rank_A" || k.size() < fewest_k) continue;
    std::vector<std::vector<double>> lines;
    for (const LineFit& fit : fits_over_k(config, records, recorded(name), fit_line)) {
      lines.emplace_back();
      for (const double at : x) lines.back().push_back(fit.intercept + fit.slope * at);
    }
    result.series.push_back(series_over_trials(name + "_fit", "k", x, lines));
  }
}

Figure gradient_rank_figure(const GradientRankConfig& config, const Records& records) {
  const std::vector<std::uint64_t> k = ascending_k(config);
  Panel path{"Nuclear rank along gradient descent", {"gradient step", Scale::log}, {"nr", Scale::log}, {}, {}};
  for (const std::uint64_t each : k)
    path.curves.push_back({at_k(each, "nuclear_rank"), "k = " + std::to_string(each), LineStyle::line});
  // The logarithmic axis leaves out iteration 0, from which the curves jump.
  const Summary start = summarise(scalars_of(records, at_k(k.back(), "nuclear_rank_0")));
  if (std::isfinite(start.mean)) path.lines.push_back({start.mean, "at W_0, k = " + std::to_string(k.back())});
  Panel scaling{"Before and after the first step", {"k"}, {"nr"}, {}, {}};
  scaling.curves.push_back({"nuclear_rank_0", "at W_0", LineStyle::points, 0});
  scaling.curves.push_back({"nuclear_rank_1", "at W_1", LineStyle::points, 1});
  if (k.size() >= fewest_k) {
    scaling.curves.push_back({"nuclear_rank_0_fit", "", LineStyle::dashed, 0});
    scaling.curves.push_back({"nuclear_rank_1_fit", "line fitted to each", LineStyle::dashed, 1});
  }
  scaling.curves.push_back({"stable_rank_A", "st(A)", LineStyle::dotted, 2});
  // The logarithmic axis of the first panel needs iterations beyond the first.
  return sampled_steps(config).back() > 1 ? Figure{{path, scaling}} : Figure{{scaling}};
}

std::string step_text(const GradientRankConfig& config) {
  const std::string norm = config.c == 1.0 ? "||B||" : short_number(config.c) + " ||B||";
  return config.eta_offset == 0 ? "1/" + (config.c == 1.0 ? norm : "(" + norm + ")")
                                : "1/(" + norm + " + " + short_number(config.eta_offset) + ")";
}

}  // namespace

Result gradient_rank_result(const GradientRankConfig& config, LabelModel model, const Records& records) {
  Result result;
  result.title = std::string("Nuclear rank of the gradient, ") + (model == LabelModel::teacher ? "teacher-student" : "realizable") +
                 " model, " + config.activation + " features";
  add_scalars(result, config, model, records);
  add_series(result, config, records);
  result.claims = gradient_rank_claims(config, model, records);
  result.figure = gradient_rank_figure(config, records);
  result.notes.push_back("The curves take the step " + step_text(config) + "; " +
                         (model == LabelModel::teacher ? "Theorem 3.9" : "Lemma 3.5") + " is judged at its own, 1/(||B|| + " +
                         short_number(theorem_offset(config)) + ").");
  return result;
}

}  // namespace ranklab
