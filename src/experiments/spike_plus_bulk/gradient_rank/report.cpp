#include <string>

#include "experiments/spike_plus_bulk/gradient_rank/gradient_rank.hpp"
#include "report/builder.hpp"

namespace ranklab::gradient_rank {
namespace {

// Series that are derived from the numbers of a trial.
constexpr char window_level[] = "window_level", window_length[] = "window_length",
               input_dimension[] = "input_dimension";

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

// The logarithmic axis of a path requires iterations beyond the first.
bool has_paths(const Plan& plan) {
  return plan.sampled.back() > 1;
}

// The level d/4 at every k, the length of the window above it, and d.
void add_window_series(ResultBuilder& out, const Plan& plan) {
  const std::vector<double> ends = {static_cast<double>(plan.sampled.front()),
                                    static_cast<double>(plan.sampled.back())};
  std::vector<double> d;
  for (const Size& size : plan.sizes) {
    d.push_back(static_cast<double>(size.d));
    out.series_of_points(size.at(window_level), "iteration", ends, {d.back() / 4, d.back() / 4});
  }
  const ValueAtSize start = recorded(plan, window_start), end = recorded(plan, window_end);
  out.series(window_length, "k", plan.k, [&](const TrialRecord& record, std::size_t i) {
    return end(record, i) - start(record, i);
  });
  out.series_of_points(input_dimension, "k", plan.k, d);
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
  if (has_paths(plan)) add_window_series(out, plan);
}

// W_0, from which the curves jump, is at 1.
void add_paths(ResultBuilder& out, const Plan& plan) {
  const Size& last = plan.sizes.back();
  PanelBuilder path = out.panel("Nuclear rank along gradient descent", log_axis("iteration + 1"),
                                rank_axis("nuclear rank nr(G) (dashed: d/4)"));
  int color = 0;
  for (const Size& size : plan.sizes) {
    path.curve(size.at(curve), "k = " + std::to_string(size.k), {.color = color, .x_offset = 1})
        .curve(size.at(window_level), "",
               {.style = LineStyle::dashed, .color = color, .x_offset = 1});
    ++color;
  }
  path.line(summarize(scalars_of(out.records(), last.at(stable_rank_A))).mean,
            "stable rank st(A) at k = " + std::to_string(last.k));
}

void add_window_panel(ResultBuilder& out) {
  out.panel("Window of a large nuclear rank, nr(G) >= d/4", log_axis("number of features k"),
            log_axis("length of the window (iterations)"))
      .curve(window_length, "measured",
             {.style = LineStyle::line_points, .color = 0, .band = BandKind::interval})
      .curve(input_dimension, "d iterations",
             {.style = LineStyle::dashed, .color = 6, .band = BandKind::interval});
}

void add_first_step_panel(ResultBuilder& out) {
  const auto look = [](LineStyle style, int color) {
    return CurveLook{.style = style, .color = color, .band = BandKind::interval};
  };
  out.panel("Before and after the first step", {"number of features k"},
            nonnegative_axis("nuclear rank nr(G)"))
      .curve(nuclear_rank_0, "before the first step (W_0)", look(LineStyle::points, 0))
      .curve(nuclear_rank_1, "after it (W_1)", look(LineStyle::points, 1))
      .curve_if_measured(std::string(nuclear_rank_0) + "_fit", "linear fit before it",
                         look(LineStyle::dashed, 0))
      .curve_if_measured(std::string(nuclear_rank_1) + "_fit", "linear fit after it",
                         look(LineStyle::dashed, 1))
      .curve(stable_rank_A, "stable rank st(A)", look(LineStyle::dotted, 2));
}

// Figure 14, if the run records iterations beyond the first; then Figure 15.
void add_figures(ResultBuilder& out, const Plan& plan) {
  if (has_paths(plan)) {
    add_paths(out, plan);
    if (plan.k.size() > 1) add_window_panel(out);
    out.next_figure("Nuclear rank of the gradient before and after the first step");
  }
  add_first_step_panel(out);
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
  add_figures(out, plan);
  out.note("The curves use the step " + step_text(plan.config) + "; " +
           (plan.teacher() ? "Theorem 3.9" : "Lemma 3.5") +
           " is judged at its own step, 1/(||B|| + " + short_number(plan.theorem_offset) + ").");
  return out.take();
}

}  // namespace ranklab::gradient_rank
