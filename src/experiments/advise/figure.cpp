// Series and figure panels of the layers.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include "core/text.hpp"
#include "core/undefined.hpp"
#include "experiments/advise/report.hpp"

namespace ranklab::advise {
namespace {

// An axis with more names than this gets no tick labels; with more layers than most_curves, a panel
// shows counts instead of one curve per layer.
constexpr std::size_t most_names = 400;
constexpr std::ptrdiff_t most_curves = 7;

// The longest prefix of all names that ends with a dot.
std::string common_prefix(const std::vector<Row>& rows) {
  std::string prefix = rows.size() > 1 ? rows.front().name() : "";
  for (const Row& row : rows) {
    while (!row.name().starts_with(prefix)) prefix.pop_back();
  }
  return prefix.substr(0, prefix.rfind('.') + 1);
}

struct Color {
  const char *name, *label;
  int palette;
  Settled settled;

  std::string of(const std::string& series) const { return series + "." + name; }
};

// The bars of the ratio are colored by the advice; each color is a series of its own.
constexpr std::array<Color, 3> colors = {{
    {"spectral", "Muon: ratio of at least 2", 2, Settled::spectral},
    {"undecided", "either: not settled", 6, Settled::nothing},
    {"euclidean", "Euclidean: ratio of at most 1/2", 4, Settled::euclidean},
}};

// Series over the rows, counted from 1. A series without a single value is left out.
void add_series(ResultBuilder& out, const std::vector<Row>& rows) {
  const auto add = [&](const std::string& name, const auto& value) {
    if (std::all_of(rows.begin(), rows.end(),
                    [&](const Row& row) { return std::isnan(value(row)); }))
      return;
    std::vector<double> x;
    for (std::size_t i = 0; i < rows.size(); ++i) x.push_back(static_cast<double>(i + 1));
    out.series(name, "layer", x, [&](const TrialRecord&, std::size_t i) { return value(rows[i]); });
  };
  const auto mean = [](Value value) { return [value](const Row& row) { return row.mean(value); }; };
  add("stable_rank", mean(&Observation::stable_rank));
  add("nuclear_rank", mean(&Observation::nuclear_rank));
  add("predicted_ratio", mean(&Observation::ratio));
  for (const Color& color : colors) {
    add(color.of("predicted_ratio"), [&](const Row& row) {
      return row.is_judged() && row.advice().settled == color.settled ? row.ratio.ratio : undefined;
    });
  }
  add("gradient_stable_rank", mean(&Observation::gradient_stable_rank));
}

// Curves of each layer over the steps; the band is the spread over the batches of a step.
void add_training(ResultBuilder& out, const std::vector<Row>& rows) {
  std::map<std::int64_t, std::map<Settled, double>> advice;
  for (const Row& row : rows) {
    for (const auto& [what, value] : {std::pair("stable_rank", &Observation::stable_rank),
                                      {"nuclear_rank", &Observation::nuclear_rank},
                                      {"predicted_ratio", &Observation::ratio}}) {
      Series series{row.name() + "." + what, "step", {}, {}, {}};
      for (const auto& [step, summary] : row.by_step(value)) {
        if (summary.n == 0) continue;
        series.x.push_back(static_cast<double>(step));
        series.mean.push_back(summary.mean);
        series.std.push_back(summary.std);
      }
      if (!series.x.empty()) out.series(std::move(series));
    }
    if (!row.is_judged()) continue;
    for (const auto& [step, ratio] : row.ratio_by_step()) advice[step][settled_by(ratio)] += 1;
  }
  for (const Color& color : colors) {
    Series series{color.of("layers_over_steps"), "step", {}, {}, {}};
    for (const auto& [step, counts] : advice) {
      series.x.push_back(static_cast<double>(step));
      series.mean.push_back(counts.contains(color.settled) ? counts.at(color.settled) : 0.0);
      series.std.push_back(0.0);
    }
    out.series(std::move(series));
  }
}

// Ranks and ratio against the number of samples in the gradient of one step: one batch, two batches
// joined, ..., all batches joined.
void add_joined(ResultBuilder& out, const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    for (const auto& [step, joined] : row.joined) {
      const std::string ending =
          "_by_samples" + (row.has_steps() ? ".step" + std::to_string(step) : "");
      for (const auto& [what, alone, together] :
           {std::tuple("stable_rank", &Observation::stable_rank, &Joined::stable_rank),
            {"nuclear_rank", &Observation::nuclear_rank, &Joined::nuclear_rank},
            {"predicted_ratio", &Observation::ratio, &Joined::ratio}}) {
        Series series{row.name() + "." + what + ending, "samples", {}, {}, {}};
        const auto add = [&](double samples, const Summary& summary) {
          series.x.push_back(samples);
          series.mean.push_back(summary.mean);
          series.std.push_back(summary.std);
        };
        add(joined.front().samples / joined.front().batches, row.by_step(alone).at(step));
        for (const Joined& one : joined) add(one.samples, one.*together);
        out.series(std::move(series));
      }
    }
  }
}

PanelBuilder with_limits(PanelBuilder panel) {
  panel.line(2.0, "2: Muon").line(1.0, "1: even").line(0.5, "1/2: Euclidean");
  return panel;
}

// Few layers get a curve each; for many layers, curves count the layers with each advice.
bool draws_each(const std::vector<Row>& rows) {
  return std::count_if(rows.begin(), rows.end(), [](const Row& row) { return row.is_judged(); }) <=
         most_curves;
}

void draw_each_over_training(ResultBuilder& out, const std::vector<Row>& rows) {
  const std::string prefix = common_prefix(rows);
  const auto curves = [&](PanelBuilder panel, const std::string& what) {
    for (const Row& row : rows) {
      panel.curve_if_measured(row.name() + "." + what, row.name().substr(prefix.size()),
                              {LineStyle::line_points});
    }
    return panel;
  };
  with_limits(
      curves(out.panel("Advantage of one spectral step", {"step"}, log_axis("nr(G) / st(A)")),
             "predicted_ratio"));
  curves(out.panel("Activations", {"step"}, rank_axis("stable rank st(A)")), "stable_rank");
  curves(out.panel("Gradients", {"step"}, rank_axis("nuclear rank nr(G)")), "nuclear_rank");
}

void draw_counts_over_training(ResultBuilder& out) {
  PanelBuilder counts =
      out.panel("Layers over training", {"step"}, nonnegative_axis("number of layers"));
  for (const Color& color : colors) {
    counts.curve(color.of("layers_over_steps"), color.label,
                 {LineStyle::line_points, color.palette});
  }
}

void draw_layers(ResultBuilder& out, const std::vector<Row>& rows) {
  const Axis names = names_axis(rows);
  PanelBuilder ratios =
      out.panel("Advantage of one spectral step", names, log_axis("nr(G) / st(A)"));
  for (const Color& color : colors)
    ratios.curve_if_measured(color.of("predicted_ratio"), color.label,
                             {LineStyle::bars, color.palette});
  with_limits(ratios);
  out.panel("Ranks of activations and gradients", names, rank_axis("rank"))
      .curve_if_measured("stable_rank", "stable rank st(A) of the activation", {LineStyle::bars, 1})
      .curve_if_measured("nuclear_rank", "nuclear rank nr(G) of the gradient",
                         {LineStyle::bars, 0});
}

// Drawn for recordings of one step only, and only for few layers.
void draw_joined(ResultBuilder& out, const std::vector<Row>& rows) {
  const auto joined = [](const Row& row) { return !row.joined.empty() && !row.has_steps(); };
  const auto count = std::count_if(rows.begin(), rows.end(), joined);
  if (count == 0 || count > most_curves) return;
  for (const auto& [what, title, axis] :
       {std::tuple("predicted_ratio", "Joined batches", log_axis("nr(G) / st(A)")),
        {"nuclear_rank", "Gradients of joined batches", rank_axis("nuclear rank nr(G)")}}) {
    PanelBuilder panel = out.panel(title, {"number of samples"}, axis);
    for (const Row& row : rows) {
      if (joined(row))
        panel.curve(row.name() + "." + what + "_by_samples", row.name(), {LineStyle::line_points});
    }
  }
}

}  // namespace

Axis names_axis(const std::vector<Row>& rows) {
  Axis names{"layer"};
  const std::string prefix = common_prefix(rows);
  if (!prefix.empty()) names.label += " (without the prefix " + prefix + ")";
  for (const Row& row : rows) {
    if (rows.size() <= most_names) names.ticks.push_back(row.name().substr(prefix.size()));
  }
  return names;
}

void draw(ResultBuilder& out, const std::vector<Row>& rows) {
  add_series(out, rows);
  add_joined(out, rows);
  if (std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.has_steps(); })) {
    add_training(out, rows);
    if (draws_each(rows)) return draw_each_over_training(out, rows);
    draw_counts_over_training(out);
  }
  draw_layers(out, rows);
  draw_joined(out, rows);
}

}  // namespace ranklab::advise
