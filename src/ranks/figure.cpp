// Series and figure panels of the layers.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "core/text.hpp"
#include "core/undefined.hpp"
#include "ranks/ranks.hpp"

namespace ranklab::ranks {
namespace {

// An axis with more names than this gets no tick labels; with more layers than most_curves, no
// panel has one curve per layer.
constexpr std::size_t most_names = 400;
constexpr std::size_t most_curves = 7;

// The longest prefix of all names that ends with a dot.
std::string common_prefix(const std::vector<LayerRows>& layers) {
  std::string prefix = layers.size() > 1 ? layers.front().name() : "";
  for (const LayerRows& layer : layers) {
    while (!layer.name().starts_with(prefix)) prefix.pop_back();
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
    {{"predicted_ratio.holds", "nr(G) / st(A)",
      "the ratio of layers for which (1.8) holds at every step"},
     "(1.8) holds",
     2,
     Holds::yes},
    {{"predicted_ratio.undecided", "nr(G) / st(A)", "the ratio of layers that are undecided"},
     "undecided",
     6,
     Holds::undecided},
    {{"predicted_ratio.fails", "nr(G) / st(A)",
      "the smallest such ratio of layers for which (1.8) fails"},
     "(1.8) does not hold",
     4,
     Holds::no},
}};

// Series over the layers, counted from 1. A series without a single value is left out.
void add_series(const std::vector<LayerRows>& layers, Numbers& out) {
  std::vector<double> x;
  for (std::size_t i = 0; i < layers.size(); ++i) x.push_back(static_cast<double>(i + 1));
  const auto add = [&](const Measure& measure, const auto& value) {
    const bool has_values = std::any_of(layers.begin(), layers.end(), [&](const LayerRows& layer) {
      return !std::isnan(value(layer));
    });
    out.sometimes(has_values, [&] {
      out.series(measure, "layer", x,
                 [&](const TrialRecord&, std::size_t i) { return value(layers[i]); });
    });
  };
  add(stable_rank_A, [](const LayerRows& layer) { return layer.mean(stable_rank_of); });
  add(nuclear_rank_G, [](const LayerRows& layer) { return layer.mean(nuclear_rank_of); });
  add(predicted_ratio, [](const LayerRows& layer) { return layer.mean(ratio_of); });
  for (const Color& color : colors) {
    add(color.ratio, [&](const LayerRows& layer) {
      const PooledRatio& ratio = layer.deciding().ratio;
      return inequality_holds(ratio) == color.holds ? ratio.ratio : undefined;
    });
  }
}

// Of one layer over the steps.
Quantity over_steps(const LayerRows& layer, const Measure& measure) {
  return At("layer", layer.name()) / measure;
}

bool has_training(const std::vector<LayerRows>& layers) {
  return std::any_of(layers.begin(), layers.end(),
                     [](const LayerRows& layer) { return layer.has_steps(); });
}

// Of st, nr and their ratio, the spread is that over the batches of a step.
void add_training(const std::vector<LayerRows>& layers, Numbers& out) {
  const auto add = [&](const LayerRows& layer, const Measure& measure, const auto& value) {
    const Quantity quantity = over_steps(layer, measure);
    Series series{quantity, "step", {}, {}, {}};
    for (const Row& row : layer.steps) {
      const Summary summary = value(row);
      if (std::isnan(summary.mean) && !out.declares()) continue;
      series.x.push_back(static_cast<double>(row.step()));
      series.mean.push_back(summary.mean);
      series.std.push_back(summary.std);
    }
    out.sometimes(!series.x.empty(), [&] { out.series(quantity, series); });
  };
  for (const LayerRows& layer : layers) {
    for (const auto& [measure, value] : {std::pair(stable_rank_A, &stable_rank_of),
                                         {nuclear_rank_G, &nuclear_rank_of},
                                         {predicted_ratio, &ratio_of}})
      add(layer, measure, [&, of = value](const Row& row) { return row.over_batches(of); });
    for (const auto& [measure, member] : {std::pair(joined_ratio_of_step, &PooledRatio::ratio),
                                          {ratio_low, &PooledRatio::low},
                                          {ratio_high, &PooledRatio::high}})
      add(layer, measure, [&, of = member](const Row& row) {
        return Summary{row.ratio.*of, 0, 1};
      });
  }
}

void draw_over_training(const std::vector<LayerRows>& layers, Display& out) {
  const std::string prefix = common_prefix(layers);
  const auto curves = [&](PanelBuilder panel, const Measure& measure) {
    for (const LayerRows& layer : layers) {
      panel.curve_if_measured(over_steps(layer, measure), layer.name().substr(prefix.size()),
                              {LineStyle::line_points});
    }
    return panel;
  };
  curves(out.panel("Ratio of the guarantees", {"step"}, log_axis("nr(G) / st(A)")),
         joined_ratio_of_step)
      .line(1.0, "1: even");
  curves(out.panel("Activations", {"step"}, rank_axis("stable rank st(A)")), stable_rank_A);
  curves(out.panel("Gradients", {"step"}, rank_axis("nuclear rank nr(G)")), nuclear_rank_G);
}

void draw_layers(const std::vector<LayerRows>& layers, Display& out) {
  const Axis names = names_axis(layers);
  PanelBuilder ratios = out.panel(std::string("Ratio of the guarantees") +
                                      (has_training(layers) ? " at the step that decides" : ""),
                                  names, log_axis("nr(G) / st(A)"));
  for (const Color& color : colors)
    ratios.curve_if_measured(color.ratio, color.label, {LineStyle::bars, color.palette});
  ratios.line(1.0, "1: even");
  out.panel("Ranks of activations and gradients", names, rank_axis("rank"))
      .curve_if_measured(stable_rank_A, "stable rank st(A) of the activation", {LineStyle::bars, 1})
      .curve_if_measured(nuclear_rank_G, "nuclear rank nr(G) of the gradient",
                         {LineStyle::bars, 0});
}

}  // namespace

Axis names_axis(const std::vector<LayerRows>& layers) {
  Axis names{"layer"};
  const std::string prefix = common_prefix(layers);
  if (!prefix.empty()) names.label += " (without the prefix " + prefix + ")";
  for (const LayerRows& layer : layers) {
    if (layers.size() <= most_names) names.ticks.push_back(layer.name().substr(prefix.size()));
  }
  return names;
}

void derive_layers(const std::vector<LayerRows>& layers, Numbers& out) {
  add_series(layers, out);
  if (has_training(layers)) add_training(layers, out);
}

void draw(const std::vector<LayerRows>& layers, Display& out) {
  if (has_training(layers) && layers.size() <= most_curves) return draw_over_training(layers, out);
  draw_layers(layers, out);
}

}  // namespace ranklab::ranks
