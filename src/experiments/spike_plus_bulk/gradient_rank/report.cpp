#include <string>

#include "experiments/spike_plus_bulk/gradient_rank/gradient_rank.hpp"
#include "report/figure/builder.hpp"

namespace ranklab::gradient_rank {
namespace {

// A quantity of one trial at the i-th k.
ValueAtSize recorded(const Plan& plan, const std::string& quantity) {
  return [&plan, quantity](const TrialRecord& record, std::size_t i) {
    return record.scalar(plan.sizes[i].at(quantity));
  };
}

void add_scalars(ResultBuilder& out, const Plan& plan) {
  std::vector<const char*> names = {
      nuclear_rank_0,       nuclear_rank_1,        stable_rank_A,  condition_T, condition_T_bound,
      nuclear_rank_0_bound, nuclear_rank_1_offset, nuclear_rank_W, B_norm,      spike_B,
      bulk_smallest,        bulk_largest,          window_start,   window_end,  minimum_ratio};
  if (plan.teacher()) names.insert(names.end(), {cross_spike, cross_bulk_largest, cross_bulk_d});
  for (const Size& size : plan.sizes) {
    for (const char* name : names) out.scalar(size.at(name));
  }
  for (const std::string name : {nuclear_rank_0, nuclear_rank_1}) {
    out.scalar("slope_" + name,
               slopes_over(out.records(), plan.k, recorded(plan, name), fit_line, 2));
    out.scalar("exponent_" + name,
               slopes_over(out.records(), plan.k, recorded(plan, name), fit_power, 2));
  }
  out.scalar(closed_form_error);
}

void add_series(ResultBuilder& out, const Plan& plan) {
  for (const Size& size : plan.sizes) {
    out.series(size.at(curve), "iteration",
               std::vector<double>(plan.sampled.begin(), plan.sampled.end()));
  }
  for (const std::string name : {nuclear_rank_0, nuclear_rank_1, stable_rank_A}) {
    out.series(name, "k", plan.k, recorded(plan, name));
    if (name == stable_rank_A || plan.k.size() < fewest_k) continue;
    std::vector<std::vector<double>> lines;
    for (const LineFit& fit : fits_over(out.records(), plan.k, recorded(plan, name), fit_line, 2)) {
      lines.emplace_back();
      for (const double k : plan.k) lines.back().push_back(fit.intercept + fit.slope * k);
    }
    out.series(series_over_trials(name + "_fit", "k", plan.k, lines));
  }
}

void add_figure(ResultBuilder& out, const Plan& plan) {
  // The logarithmic axis of the first panel requires iterations beyond the first. W_0, from which
  // the curves jump, is at 1.
  if (plan.sampled.back() > 1) {
    const Size& last = plan.sizes.back();
    PanelBuilder path =
        out.panel("Nuclear rank along gradient descent", log_axis("1 + iteration"), log_axis("nr"));
    for (const Size& size : plan.sizes)
      path.curve(size.at(curve), "k = " + std::to_string(size.k), {.x_offset = 1});
    path.line(summarize(scalars_of(out.records(), last.at(stable_rank_A))).mean,
              "st(A), k = " + std::to_string(last.k));
  }
  out.panel("Before and after the first step", {"k"}, {"nr"})
      .curve(nuclear_rank_0, "at W_0", {LineStyle::points, 0})
      .curve(nuclear_rank_1, "at W_1", {LineStyle::points, 1})
      .curve_if_measured(std::string(nuclear_rank_0) + "_fit", "", {LineStyle::dashed, 0})
      .curve_if_measured(std::string(nuclear_rank_1) + "_fit", "linear fits",
                         {LineStyle::dashed, 1})
      .curve(stable_rank_A, "st(A)", {LineStyle::dotted, 2});
}

std::string step_text(const GradientRankConfig& config) {
  const std::string norm = config.c == 1.0 ? "||B||" : short_number(config.c) + " ||B||";
  if (config.eta_offset != 0) return "1/(" + norm + " + " + short_number(config.eta_offset) + ")";
  return config.c == 1.0 ? "1/" + norm : "1/(" + norm + ")";
}

}  // namespace

Result report(const Plan& plan, const Records& records) {
  ResultBuilder out(std::string("Nuclear rank of the gradient, ") +
                        (plan.teacher() ? "teacher-student" : "realizable") + " model, " +
                        plan.config.activation + " features",
                    records);
  add_scalars(out, plan);
  add_series(out, plan);
  judge(plan, records, out.claims());
  add_figure(out, plan);
  out.note("The curves use the step " + step_text(plan.config) + "; " +
           (plan.teacher() ? "Theorem 3.9" : "Lemma 3.5") +
           " is judged at its own step, 1/(||B|| + " + short_number(plan.theorem_offset) + ").");
  return out.take();
}

}  // namespace ranklab::gradient_rank
