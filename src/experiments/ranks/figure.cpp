// Series and figure panels of the layers.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "core/text.hpp"
#include "core/undefined.hpp"
#include "experiments/ranks/ranks.hpp"

namespace ranklab::ranks {
namespace {

// An axis with more names than this gets no tick labels; with more layers than most_curves, no
// panel has one curve per layer.
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
  Measure ratio;
  const char* label;
  int palette;
  Holds holds;
};

// The bars of the ratio are colored by the verdict; each color is a series of its own.
constexpr std::array<Color, 3> colors = {{
    {{"predicted_ratio.holds", "nr(G) / st(A)", "the ratio of layers for which (1.8) holds"},
     "(1.8) holds",
     2,
     Holds::yes},
    {{"predicted_ratio.undecided", "nr(G) / st(A)", "the ratio of layers that are undecided"},
     "undecided",
     6,
     Holds::undecided},
    {{"predicted_ratio.fails", "nr(G) / st(A)", "the ratio of layers for which (1.8) fails"},
     "(1.8) does not hold",
     4,
     Holds::no},
}};

// Series over the rows, counted from 1. A series without a single value is left out.
void add_series(const std::vector<Row>& rows, Numbers& out) {
  std::vector<double> x;
  for (std::size_t i = 0; i < rows.size(); ++i) x.push_back(static_cast<double>(i + 1));
  const auto add = [&](const Measure& measure, const auto& value) {
    const bool has_values = std::any_of(rows.begin(), rows.end(),
                                        [&](const Row& row) { return !std::isnan(value(row)); });
    out.sometimes(has_values, [&] {
      out.series(measure, "layer", x,
                 [&](const TrialRecord&, std::size_t i) { return value(rows[i]); });
    });
  };
  add(stable_rank_A, [](const Row& row) { return row.mean(stable_rank_of); });
  add(nuclear_rank_G, [](const Row& row) { return row.mean(nuclear_rank_of); });
  add(predicted_ratio, [](const Row& row) { return row.mean(ratio_of); });
  for (const Color& color : colors) {
    add(color.ratio, [&](const Row& row) {
      return row.is_judged() && inequality_holds(row.ratio) == color.holds ? row.ratio.ratio
                                                                           : undefined;
    });
  }
}

// Of one layer over the steps.
Quantity over_steps(const Row& row, const Measure& measure) {
  return At("layer", row.name()) / measure;
}

bool has_training(const std::vector<Row>& rows) {
  return std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.has_steps(); });
}

// The band of a curve is the spread over the batches of a step.
void add_training(const std::vector<Row>& rows, Numbers& out) {
  for (const Row& row : rows) {
    for (const auto& [measure, value] : {std::pair(stable_rank_A, &stable_rank_of),
                                         {nuclear_rank_G, &nuclear_rank_of},
                                         {predicted_ratio, &ratio_of}}) {
      const Quantity quantity = over_steps(row, measure);
      Series series{quantity, "step", {}, {}, {}};
      for (const auto& [step, summary] : row.by_step(value)) {
        if (summary.n == 0 && !out.declares()) continue;
        series.x.push_back(static_cast<double>(step));
        series.mean.push_back(summary.mean);
        series.std.push_back(summary.std);
      }
      out.sometimes(!series.x.empty(), [&] { out.series(quantity, series); });
    }
  }
}

void draw_over_training(const std::vector<Row>& rows, Display& out) {
  const std::string prefix = common_prefix(rows);
  const auto curves = [&](PanelBuilder panel, const Measure& measure) {
    for (const Row& row : rows) {
      panel.curve_if_measured(over_steps(row, measure), row.name().substr(prefix.size()),
                              {LineStyle::line_points});
    }
    return panel;
  };
  curves(out.panel("Ratio of the guarantees", {"step"}, log_axis("nr(G) / st(A)")), predicted_ratio)
      .line(1.0, "1: even");
  curves(out.panel("Activations", {"step"}, rank_axis("stable rank st(A)")), stable_rank_A);
  curves(out.panel("Gradients", {"step"}, rank_axis("nuclear rank nr(G)")), nuclear_rank_G);
}

void draw_layers(const std::vector<Row>& rows, Display& out) {
  const Axis names = names_axis(rows);
  PanelBuilder ratios = out.panel("Ratio of the guarantees", names, log_axis("nr(G) / st(A)"));
  for (const Color& color : colors)
    ratios.curve_if_measured(color.ratio, color.label, {LineStyle::bars, color.palette});
  ratios.line(1.0, "1: even");
  out.panel("Ranks of activations and gradients", names, rank_axis("rank"))
      .curve_if_measured(stable_rank_A, "stable rank st(A) of the activation", {LineStyle::bars, 1})
      .curve_if_measured(nuclear_rank_G, "nuclear rank nr(G) of the gradient",
                         {LineStyle::bars, 0});
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

void derive_layers(const std::vector<Row>& rows, Numbers& out) {
  add_series(rows, out);
  if (has_training(rows)) add_training(rows, out);
}

void draw(const std::vector<Row>& rows, Display& out) {
  const auto judged =
      std::count_if(rows.begin(), rows.end(), [](const Row& row) { return row.is_judged(); });
  if (has_training(rows) && judged <= most_curves) return draw_over_training(rows, out);
  draw_layers(rows, out);
}

}  // namespace ranklab::ranks
