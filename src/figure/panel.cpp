#include "figure/panel.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "core/statistics.hpp"
#include "core/undefined.hpp"
#include "figure/bars.hpp"
#include "figure/palette.hpp"
#include "figure/symbols.hpp"
#include "figure/text.hpp"

namespace ranklab {
namespace {

Look look_of(LineStyle style) {
  switch (style) {
    case LineStyle::dashed:
      return Look::dashed;
    case LineStyle::dotted:
      return Look::dotted;
    case LineStyle::bars:
      return Look::bars;
    case LineStyle::points:
      return Look::scatter;
    case LineStyle::line:
    case LineStyle::line_points:
      break;
  }
  return Look::solid;
}

// A curve without its own color takes the next palette color that no curve of the panel asks for.
std::vector<std::size_t> colors(const std::vector<Curve>& curves) {
  std::set<std::size_t> taken;
  for (const Curve& curve : curves) {
    if (curve.color >= 0) taken.insert(static_cast<std::size_t>(curve.color) % palette.size());
  }
  std::vector<std::size_t> out;
  std::size_t next = 0;
  for (const Curve& curve : curves) {
    while (curve.color < 0 && taken.size() < palette.size() &&
           taken.contains(next % palette.size()))
      ++next;
    out.push_back(curve.color >= 0 ? static_cast<std::size_t>(curve.color) : next++);
  }
  return out;
}

// A line needs markers if its dash alone does not distinguish it from a line of another color.
// Families that share color and dash, such as restarts, are one object to the reader and stay
// plain.
bool needs_markers(const DrawnPanel& panel, const std::vector<Curve>& curves, std::size_t which) {
  const DrawnCurve& self = panel.curves[which];
  if (self.look == Look::bars) return false;
  if (self.look == Look::scatter || curves[which].style == LineStyle::line_points) return true;
  bool another_color = false;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const DrawnCurve& other = panel.curves[i];
    if (i == which || other.look != self.look) continue;
    const bool same_color = palette_entry(other.color).color == palette_entry(self.color).color;
    if (same_color && (curves[i].label.empty() || curves[which].label.empty())) return false;
    another_color |= !same_color;
  }
  return another_color;
}

void add_markers(DrawnPanel& panel, const std::vector<Curve>& curves) {
  double phase = 0.3;
  for (std::size_t i = 0; i < panel.curves.size(); ++i) {
    DrawnCurve& curve = panel.curves[i];
    if (!needs_markers(panel, curves, i)) continue;
    phase += 0.381966;  // the golden section keeps any number of phases apart
    if (phase >= 1) phase -= 1;
    if (curve.look == Look::scatter) {
      for (const auto& segment : curve.segments)
        curve.markers.insert(curve.markers.end(), segment.begin(), segment.end());
    } else {
      curve.markers = marker_points(curve.segments, panel.x, phase);
    }
  }
}

LegendEntry entry_of(const DrawnCurve& curve, std::string label) {
  LegendEntry entry{std::move(label)};
  entry.color = curve.color;
  entry.look = curve.look;
  entry.bar_fill = curve.bar_fill;
  entry.band = curve.band;
  entry.markers = !curve.markers.empty();
  entry.trials = !curve.trials.empty();
  return entry;
}

void add_curve_entries(DrawnPanel& panel, const Panel& content) {
  for (std::size_t i = 0; i < content.curves.size(); ++i) {
    const std::string label = label_with_symbols(content.curves[i].label);
    if (!label.empty()) panel.legend.push_back(entry_of(panel.curves[i], label));
  }
}

void add_lines(DrawnPanel& panel, const Panel& content) {
  constexpr double widest_at_side = 90, font_size = 11;
  constexpr std::size_t most_at_side = 6;
  bool at_side = content.lines.size() <= most_at_side && !panel.horizontal_bars;
  for (const auto& line : content.lines)
    at_side = at_side && text_width(label_with_symbols(line.label), font_size) <= widest_at_side;
  for (const auto& line : content.lines) {
    if (panel.y.log && line.y <= panel.y.low)
      continue;  // not positive: make_axes did not include it
    const std::string label = label_with_symbols(line.label);
    const std::size_t dash = at_side ? 0 : panel.lines.size();
    panel.lines.push_back({line.y, dash, at_side ? label : ""});
    if (!at_side && !label.empty())
      panel.legend.push_back({.label = label, .sample = Sample::line, .dash = dash});
  }
}

// Bands are cut at the range of the curves, so that a prediction far beyond the data does not
// squeeze the data.
void add_bands(DrawnPanel& panel, const Panel& content) {
  for (const Band& band : content.bands) {
    const double low = std::max(band.x_low, panel.x.low),
                 high = std::min(band.x_high, panel.x.high);
    if (low > high) continue;
    const std::string label = label_with_symbols(band.label);
    const std::size_t color =
        band.color >= 0 ? static_cast<std::size_t>(band.color) : neutral_color;
    if (!label.empty())
      panel.legend.push_back({.label = label, .sample = Sample::band, .color = color});
    panel.bands.push_back({low, high, color});
  }
}

// The values that the two axes of a panel have to show.
struct Extents {
  Extent x, y;
  bool scatter = false;
};

bool can_show(const Axis& axis, double value) {
  return axis.scale != Scale::log || value > 1e-290;
}

Extents extents_of(DrawnPanel& panel, const Panel& content) {
  Extents out;
  const auto include_y = [&](double y) { out.y.include(std::max(y, content.y.floor)); };
  const auto include = [&](const DrawnCurve& curve, const Segments& segments) {
    for (const auto& segment : segments) {
      for (const DrawnPoint& point : segment) {
        out.x.include(point.x);
        include_y(point.y);
        if (curve.look == Look::bars) {
          out.x.include(point.x + curve.bar_left), out.x.include(point.x + curve.bar_right);
          include_y(panel.bar_foot);
        }
        // Unknown spreads (NaN) do not affect the range.
        if (point.high >= point.low) include_y(point.low), include_y(point.high);
      }
    }
  };
  for (const DrawnCurve& curve : panel.curves) {
    out.scatter |= curve.look == Look::scatter;
    include(curve, curve.segments);
    for (const Segments& trial : curve.trials) include(curve, trial);
  }
  panel.empty = out.x.low > out.x.high;
  for (const auto& line : content.lines) {
    if (can_show(content.y, line.y)) include_y(line.y);
  }
  for (const auto& [axis, extent] : {std::pair(&content.x, &out.x), {&content.y, &out.y}}) {
    for (const double value : axis->covers) {
      if (can_show(*axis, value)) extent->include(value);
    }
  }
  return out;
}

void make_axes(DrawnPanel& panel, const Panel& content, const Extents& extents,
               const PanelSize& size) {
  panel.x = make_axis(content.x, extents.x, extents.scatter ? 0.03 : 0.0,
                      {size.width, size.width < 240 ? 4 : 5, true});
  panel.y = make_axis(content.y, extents.y, 0.04, {size.height, size.height < 200 ? 5 : 6, false});
}

// No value of a trial is outside the domain of its quantity, so the band of a mean is cut there.
// The band around a mean that is itself outside stays whole: the domain is wrong, and shows it.
void keep_in_domain(Segments& segments, const Domain& domain) {
  for (auto& segment : segments) {
    for (DrawnPoint& point : segment) {
      if (point.y < domain.low || point.y > domain.high || !(point.high >= point.low)) continue;
      point.low = std::max(point.low, domain.low), point.high = std::min(point.high, domain.high);
    }
  }
}

std::uint64_t number_of_trials(const Series& series, std::size_t i, std::uint64_t trials) {
  return series.n.empty() ? trials : series.n[i];
}

// The series with the band that the curve asks for.
Series with_requested_band(Series series, const Curve& curve, std::uint64_t trials) {
  if (curve.band == BandKind::trials && shows_each(series.trials.size())) {
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      std::vector<double> values;
      for (const auto& trial : series.trials) values.push_back(trial[i]);
      // A median over the few trials that did not diverge would look like one over all.
      const auto left = std::ranges::count_if(values, [](double v) { return std::isfinite(v); });
      const bool few = look_of(curve.style) != Look::scatter &&
                       2 * static_cast<std::size_t>(left) < values.size();
      series.mean[i] = few ? undefined : median(values);
      series.std[i] = 0;
    }
  }
  for (std::size_t i = 0; i < series.std.size(); ++i) {
    const std::uint64_t n = number_of_trials(series, i, trials);
    const double std = series.std[i];
    if (curve.band == BandKind::standard_error)
      series.std[i] = n > 1 ? std / std::sqrt(static_cast<double>(n)) : undefined;
    if (curve.band == BandKind::interval)
      series.std[i] = n > 1 ? confidence_half_width({series.mean[i], std, n}) : undefined;
  }
  return series;
}

// A median of dots is a short horizontal dash through its dots.
Segments dashes_at(const Segments& points, const Extent& x, bool log_x) {
  Segments out;
  const double low = log_x ? std::log(x.low) : x.low, high = log_x ? std::log(x.high) : x.high,
               half = high > low ? 0.025 * (high - low) : 0.1;
  for (const auto& segment : points) {
    for (const DrawnPoint& point : segment) {
      DrawnPoint left = point, right = point;
      left.x = log_x ? point.x * std::exp(-half) : point.x - half;
      right.x = log_x ? point.x * std::exp(half) : point.x + half;
      out.push_back({left, right});
    }
  }
  return out;
}

// More names would be slanted below the axis and hard to read.
constexpr std::size_t most_upright_names = 12;

bool has_horizontal_bars(const Panel& panel) {
  return panel.x.ticks.size() > most_upright_names &&
         std::all_of(panel.curves.begin(), panel.curves.end(),
                     [](const Curve& curve) { return curve.style == LineStyle::bars; });
}

void swap_axes(DrawnPanel& panel) {
  std::swap(panel.x, panel.y);
  std::swap(panel.x_label, panel.y_label);
  std::swap(panel.y.low, panel.y.high);
}

// The single trials of a curve.
std::vector<Segments> trials_of(const Curve& curve, const FigureData& figure, bool log_x,
                                bool log_y) {
  std::vector<Segments> out;
  if (curve.band != BandKind::trials) return out;
  const Series& series = figure.series.at(curve.series);
  for (const auto& trial : series.trials) {
    const Series one{series.name, "", series.x, trial, std::vector<double>(trial.size(), 0.0)};
    out.push_back(segments_of(one, curve, log_x, log_y));
  }
  return out;
}

bool is_line(Look look) {
  return look != Look::scatter && look != Look::bars;
}

// The curves of a panel, without axes.
DrawnPanel draw_curves(const Panel& content, const FigureData& figure, std::size_t stretches) {
  DrawnPanel panel;
  panel.title = label_with_symbols(content.title);
  panel.x_label = label_with_symbols(content.x.label);
  panel.y_label = label_with_symbols(content.y.label);
  panel.group = content.group;
  panel.horizontal_bars = has_horizontal_bars(content);
  panel.bar_foot = content.y.scale == Scale::log ? 1.0 : 0.0;
  const bool log_x = content.x.scale == Scale::log, log_y = content.y.scale == Scale::log;
  const std::vector<std::size_t> color = colors(content.curves);
  std::vector<std::vector<Segments>> trials;
  for (const Curve& curve : content.curves) {
    trials.push_back(trials_of(curve, figure, log_x, log_y));
    panel.in_stretches |=
        is_line(look_of(curve.style)) && std::ranges::any_of(trials.back(), oscillates);
  }
  for (std::size_t i = 0; i < content.curves.size(); ++i) {
    const Curve& curve = content.curves[i];
    DrawnCurve drawn;
    drawn.look = look_of(curve.style);
    const bool lines = is_line(drawn.look),
               merged = lines && panel.in_stretches && !trials[i].empty();
    const auto drawable = [&](const Segments& segments, std::size_t most) {
      return merged ? in_stretches(segments, log_x, std::min(stretches, most_visible_stretches))
                    : thinned(segments, log_x, lines, most);
    };
    drawn.segments = drawable(segments_of(with_requested_band(figure.series.at(curve.series), curve,
                                                              figure.trials.completed),
                                          curve, log_x, log_y),
                              stretches);
    // The single trials show the range.
    for (auto& segment : drawn.segments) {
      for (DrawnPoint& point : segment) {
        if (merged) point.low = point.high = point.y;
      }
    }
    keep_in_domain(drawn.segments, content.y.domain);
    for (const Segments& trial : trials[i]) drawn.trials.push_back(drawable(trial, stretches / 2));
    drawn.color = color[i];
    drawn.band = has_band(drawn.segments);
    panel.curves.push_back(std::move(drawn));
  }
  place_bars(panel, bar_distance(content.curves, figure.series));
  return panel;
}

void finish_panel(DrawnPanel& panel, const Panel& content, const Extents& extents,
                  const PanelSize& size) {
  make_axes(panel, content, extents, size);
  add_markers(panel, content.curves);
  for (DrawnCurve& curve : panel.curves) {
    if (curve.look == Look::scatter && !curve.trials.empty()) {
      curve.markers.clear();
      for (const Segments& trial : curve.trials) {
        for (const auto& segment : trial)
          curve.markers.insert(curve.markers.end(), segment.begin(), segment.end());
      }
      curve.trials.clear();
      curve.segments = dashes_at(curve.segments, {panel.x.low, panel.x.high}, panel.x.log);
      curve.medians = true;
    }
  }
  add_curve_entries(panel, content);
  add_bands(panel, content);
  add_lines(panel, content);
  if (panel.horizontal_bars) swap_axes(panel);
}

// One legend for all panels of a group: the entries of all, each once.
void join_legends(std::vector<DrawnPanel>& panels, const std::string& group) {
  std::vector<LegendEntry> all;
  for (const DrawnPanel& panel : panels) {
    if (panel.group != group) continue;
    for (const LegendEntry& entry : panel.legend) {
      const auto same = std::find_if(all.begin(), all.end(), [&](const LegendEntry& other) {
        return other.label == entry.label && other.sample == entry.sample &&
               other.color == entry.color && other.look == entry.look;
      });
      if (same == all.end()) {
        all.push_back(entry);
      } else {
        same->band |= entry.band, same->markers |= entry.markers, same->trials |= entry.trials;
      }
    }
  }
  for (DrawnPanel& panel : panels) {
    if (panel.group == group) panel.legend = all;
  }
}

}  // namespace

std::vector<DrawnPanel> make_panels(const FigureData& data, const PanelSize& size) {
  std::vector<DrawnPanel> panels;
  std::vector<Extents> extents;
  std::map<std::string, Extents> of_group;
  for (const Panel& panel : data.figure.panels) {
    panels.push_back(draw_curves(panel, data, size.stretches));
    extents.push_back(extents_of(panels.back(), panel));
    Extents& shared = of_group[panel.group];
    shared.x.include(extents.back().x), shared.y.include(extents.back().y);
    shared.scatter |= extents.back().scatter;
  }
  for (std::size_t i = 0; i < panels.size(); ++i) {
    const Panel& panel = data.figure.panels[i];
    finish_panel(panels[i], panel, panel.group.empty() ? extents[i] : of_group[panel.group], size);
  }
  for (const auto& [group, shared] : of_group) {
    if (!group.empty()) join_legends(panels, group);
  }
  return panels;
}

}  // namespace ranklab
