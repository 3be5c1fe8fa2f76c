// The study stable-rank: scalars, series and figure from its trials' records.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numbers>

#include "core/undefined.hpp"
#include "experiments/random_features/stable_rank/stable_rank.hpp"
#include "models/gaussian_moments.hpp"
#include "report/builder.hpp"
#include "report/figure/cell_text.hpp"

namespace ranklab::stable_ranks {
namespace {

double printed_nsr_bound(const std::string& activation) {
  const auto printed = printed_moments(activation);
  return printed ? printed->nsr_bound(1.0) : undefined;
}

// value(activation) for every listed activation.
std::vector<double> over_activations(const Plan& plan,
                                     const std::function<double(const std::string&)>& value) {
  std::vector<double> values;
  for (const std::string& name : plan.config.activation) values.push_back(value(name));
  return values;
}

void add_scalars(const Plan& plan, ResultBuilder& out) {
  const auto add_constant = [&](const std::string& name, double value) {
    out.scalar(name, std::vector<double>(out.records().size(), value));
  };
  for (const std::string& name : plan.config.activation) {
    for (const WeightKind& kind : weight_kinds) out.scalar(layer_rank(name, kind));
    const GaussianMoments moments = gaussian_moments(find_activation(name), 1.0);
    add_constant(name + ".nsr_bound", printed_nsr_bound(name));
    add_constant(name + ".nsr_quadrature", moments.noise_to_signal());
    add_constant(name + ".alpha", moments.mean * moments.mean);
    add_constant(name + ".beta", moments.second);
  }
  out.scalar(X_rank);
  for (const WeightKind& kind : weight_kinds) out.scalar(W_rank(kind));
  out.scalars({indicator_rank, inverse_p_max, embedding_rank, embedding_rms_rank, norm_deviation,
               distinct_tokens});
}

void add_series(const Plan& plan, ResultBuilder& out) {
  const auto add_constant = [&](const std::string& name, const std::string& x_name,
                                const std::vector<double>& values) {
    out.series(series_over_trials(name, x_name, std::vector(out.records().size(), values), 1.0));
  };
  for (const WeightKind& kind : weight_kinds) {
    const auto measured = per_trial(out.records(), [&](const TrialRecord& record) {
      return over_activations(
          plan, [&](const std::string& name) { return record.scalar(layer_rank(name, kind)); });
    });
    out.series(series_over_trials("stable_rank" + kind.suffix, "activation", measured, 1.0));
  }
  const auto quadrature = [](const std::string& name) {
    return gaussian_moments(find_activation(name), 1.0).noise_to_signal();
  };
  add_constant("nsr_quadrature", "activation", over_activations(plan, quadrature));
  add_constant("nsr_bound", "activation", over_activations(plan, printed_nsr_bound));
  for (const std::string& name : plan.stacks) out.series(depth_ranks(name), "layer", 1.0);
  std::vector<double> bounds;
  for (std::uint64_t layer = 1; layer <= plan.config.depth; ++layer) {
    bounds.push_back(quadratic_bound(layer, plan.config.failure_probability));
  }
  add_constant("quadratic.depth.bound", "layer", bounds);
  // The bound grows doubly exponentially. The figure shows it only as far as it does not flatten
  // the other curves.
  if (bounds.front() >= 100 * plan.largest_rank) return;
  for (double& bound : bounds) bound = bound < 100 * plan.largest_rank ? bound : undefined;
  add_constant("quadratic.depth.bound.drawn", "layer", bounds);
}

// The name of an activation for people.
std::string activation_text(const std::string& activation) {
  static const std::map<std::string, std::string> names = {
      {"abs", "|x|"},   {"relu", "ReLU"}, {"leaky-relu", "leaky ReLU"}, {"relu2", "squared ReLU"},
      {"gelu", "GELU"}, {"silu", "SiLU"}, {"swiglu", "SwiGLU"},
  };
  const auto found = names.find(activation);
  return found == names.end() ? activation : found->second;
}

// One row of Figure 12 with our numbers. The constants are those of inequality (2.9) at one
// variance w' Sigma w; a printed alpha above the largest possible one is an error.
std::vector<std::string> table_row(const std::string& activation, double variance,
                                   const std::string& name, const std::string& measured) {
  const GaussianMoments moments = gaussian_moments(find_activation(activation), variance);
  const auto printed = printed_moments(activation);
  const double f = printed ? std::pow(variance, printed->power) : undefined;
  const auto if_printed = [&](double value) { return printed ? number_text(value) : "-"; };
  return {name,
          !printed              ? "-"
          : printed->power == 2 ? "(w' Sigma w)^2"
                                : "w' Sigma w",
          if_printed(printed ? printed->alpha(variance) : undefined),
          if_printed(moments.mean * moments.mean / f),
          if_printed(printed ? printed->beta : undefined),
          if_printed(moments.second / f),
          if_printed(printed ? printed->nsr_bound(variance) : undefined),
          number_text(moments.noise_to_signal()),
          measured};
}

// Figure 12 at variance 1, and a row whose constants depend on s_* also at the largest variance:
// at 1 the two readings of s_*, as a variance and as a standard deviation, agree.
void add_figure_table(const Plan& plan, ResultBuilder& out) {
  FigureTable table{
      "Figure 12 at w' Sigma w = 1, with the largest alpha and the smallest beta that "
      "(2.9) allows there, and stable ranks of sigma(WX). NSR: noise-to-signal ratio; -: not "
      "printed",
      {"activation sigma", "f(w), printed", "alpha, printed", "alpha, largest allowed",
       "beta, printed", "beta, smallest allowed", "bound on the NSR, printed", "NSR, computed",
       "stable rank, measured (\u00B1 99 %)"},
      {}};
  const double largest = std::ranges::max(plan.config.variances);
  for (const std::string& name : plan.config.activation) {
    const std::string text = activation_text(name);
    table.rows.push_back(table_row(
        name, 1.0, text, mean_text(scalars_of(out.records(), layer_rank(name, weight_kinds[0])))));
    const auto printed = printed_moments(name);
    if (printed && printed->depends_on_s_star && largest > 1.0) {
      table.rows.push_back(
          table_row(name, largest, text + ", w' Sigma w = " + number_text(largest), "-"));
    }
  }
  out.figure_table(std::move(table));
}

void add_figure(const Plan& plan, ResultBuilder& out) {
  add_figure_table(plan, out);
  const Axis ranks = rank_axis("stable rank of the layer's output");
  PanelBuilder depth = out.panel("Random layers", {"layer"}, ranks);
  for (const std::string& name : plan.config.activation)
    depth.curve(depth_ranks(name), activation_text(name), {LineStyle::line_points});
  depth.line(std::numbers::pi, "NSR of ReLU");
  const bool draws_bound = out.has_series("quadratic.depth.bound.drawn");
  out.panel("Quadratic activations", {"layer"}, ranks)
      .curve(depth_ranks("quadratic"), "measured", {LineStyle::line_points})
      .curve_if_measured("quadratic.depth.bound.drawn", "bound (2.12), as far as it fits the axis",
                         {LineStyle::dashed})
      .line(plan.largest_rank, draws_bound ? "largest possible rank, min(k, n)"
                                           : "min(k, n); bound (2.12) is far above");
}

}  // namespace

Result report(const Plan& plan, const Records& records) {
  ResultBuilder out("Stable rank of post-activations", records);
  out.claims().set_unit(Unit::draw);
  add_scalars(plan, out);
  add_series(plan, out);
  judge(plan, records, out.claims());
  add_figure(plan, out);
  if (quadratic_bound(1, plan.config.failure_probability) >= plan.largest_rank) {
    out.note(
        "The bound of Theorem 2.8 exceeds min(k, n) at every layer, so it is vacuous at these "
        "sizes.");
  }
  out.note(
      "Theorems 2.6 and 2.7 cover ReLU, |x| and leaky ReLU; the paper proves no bound for the "
      "other activations.");
  return out.take();
}

}  // namespace ranklab::stable_ranks
