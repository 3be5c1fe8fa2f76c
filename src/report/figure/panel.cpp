#include "report/figure/panel.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "core/undefined.hpp"
#include "report/figure/palette.hpp"
#include "report/figure/text.hpp"

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
      for (const auto& run : curve.runs)
        curve.markers.insert(curve.markers.end(), run.begin(), run.end());
    } else {
      curve.markers = marker_points(curve.runs, panel.x, phase);
    }
  }
}

void add_lines(DrawnPanel& panel, const Panel& source) {
  constexpr double widest_at_side = 90, font_size = 11;
  constexpr std::size_t most_at_side = 6;
  bool at_side = source.lines.size() <= most_at_side && !panel.horizontal_bars;
  for (const auto& line : source.lines)
    at_side = at_side && text_width(one_line(line.label), font_size) <= widest_at_side;
  for (const auto& line : source.lines) {
    if (panel.y.log && line.y <= panel.y.low)
      continue;  // not positive: make_axes did not include it
    const std::string label = one_line(line.label);
    const std::size_t dash = at_side ? 0 : panel.lines.size();
    panel.lines.push_back({line.y, dash, at_side ? label : ""});
    if (!at_side && !label.empty()) panel.legend.push_back({label, Sample::line, dash});
  }
}

// Bands are cut at the range of the curves, so that a prediction far beyond the data does not
// squeeze the data.
void add_bands(DrawnPanel& panel, const Panel& source) {
  for (const Band& band : source.bands) {
    const double low = std::max(band.x_low, panel.x.low),
                 high = std::min(band.x_high, panel.x.high);
    if (low > high) continue;
    const std::string label = one_line(band.label);
    if (!label.empty()) panel.legend.push_back({label, Sample::band, panel.bands.size()});
    panel.bands.push_back(
        {low, high, band.color >= 0 ? static_cast<std::size_t>(band.color) : neutral_color});
  }
}

// The smallest distance in x between two points of one curve of bars, drawn or undefined; 1 if no
// curve has two points.
double bar_distance(const std::vector<Curve>& curves, const std::map<std::string, Series>& series) {
  double smallest = std::numeric_limits<double>::infinity();
  for (const Curve& curve : curves) {
    if (curve.style != LineStyle::bars) continue;
    std::vector<double> x = series.at(curve.series).x;
    std::erase_if(x, [](double at) { return !std::isfinite(at); });
    std::sort(x.begin(), x.end());
    for (std::size_t i = 1; i < x.size(); ++i) {
      if (x[i] > x[i - 1]) smallest = std::min(smallest, x[i] - x[i - 1]);
    }
  }
  return std::isfinite(smallest) ? smallest : 1.0;
}

// True if no two curves have a bar at the same x, for example if colors distinguish classes. Each
// bar then takes the whole width.
bool bars_never_share_x(const DrawnPanel& panel) {
  std::set<double> taken;
  for (const DrawnCurve& curve : panel.curves) {
    for (const auto& run : curve.runs) {
      for (const DrawnPoint& point : run) {
        if (!taken.insert(point.x).second) return false;
      }
    }
  }
  return true;
}

// Bars are side by side over four fifths of the distance between points. They differ in the density
// of their color, so that they are distinct without color.
void place_bars(DrawnPanel& panel, double distance) {
  constexpr std::array<double, 3> fills = {0.9, 0.45, 0.7};
  const auto is_bars = [](const DrawnCurve& curve) { return curve.look == Look::bars; };
  const auto curves = std::count_if(panel.curves.begin(), panel.curves.end(), is_bars);
  if (curves == 0) return;
  const bool together = curves > 1 && bars_never_share_x(panel);
  const double group = 0.8 * distance,
               width = together ? group : group / static_cast<double>(curves);
  double left = -group / 2;
  std::size_t next = 0;
  for (DrawnCurve& curve : panel.curves) {
    if (!is_bars(curve)) continue;
    curve.bar_left = left;
    curve.bar_right = left + width;
    if (!together) left = curve.bar_right;
    curve.bar_fill = fills[next++ % fills.size()];
  }
}

void make_axes(DrawnPanel& panel, const Panel& source) {
  Extent x, y;
  bool scatter = false;
  panel.bar_foot = source.y.scale == Scale::log ? 1.0 : 0.0;
  for (const DrawnCurve& curve : panel.curves) {
    scatter |= curve.look == Look::scatter;
    for (const auto& run : curve.runs) {
      for (const DrawnPoint& point : run) {
        x.include(point.x);
        y.include(point.y);
        if (curve.look == Look::bars) {
          x.include(point.x + curve.bar_left), x.include(point.x + curve.bar_right);
          y.include(panel.bar_foot);
        }
        // Unknown spreads (NaN) do not affect the range.
        if (point.high >= point.low) y.include(point.low), y.include(point.high);
      }
    }
  }
  panel.empty = x.low > x.high;
  const auto shows = [](const Axis& axis, double value) {
    return axis.scale != Scale::log || value > 1e-290;
  };
  for (const auto& line : source.lines) {
    if (shows(source.y, line.y)) y.include(line.y);
  }
  for (const auto& [axis, extent] : {std::pair(&source.x, &x), {&source.y, &y}}) {
    for (const double value : axis->covers) {
      if (shows(*axis, value)) extent->include(value);
    }
  }
  panel.x = make_axis(source.x, x, scatter ? 0.03 : 0.0, 5);
  panel.y = make_axis(source.y, y, 0.04, 6);
}

bool is_unit_axis(const Axis& axis) {
  return axis.scale == Scale::linear && axis.covers == std::vector<double>{0, 1};
}

// No fraction in a trial is below 0 or above 1, so the band of a mean is cut there.
void keep_in_unit_interval(Runs& runs) {
  for (auto& run : runs) {
    for (DrawnPoint& point : run) {
      if (point.y < 0 || point.y > 1 || !(point.high >= point.low)) continue;
      point.low = std::max(point.low, 0.0), point.high = std::min(point.high, 1.0);
    }
  }
}

// The series with the band that the curve asks for.
Series with_requested_band(Series series, const Curve& curve, double trials) {
  if (!curve.standard_error) return series;
  for (std::size_t i = 0; i < series.std.size(); ++i) {
    const double n = series.n.empty() ? trials : series.n[i];
    series.std[i] = n > 1 ? series.std[i] / std::sqrt(n) : undefined;
  }
  return series;
}

// If trials drop out along a curve, its label says how many are left at the end.
std::string label_of(const Curve& curve, const Series& series, double trials) {
  const std::string label = one_line(curve.label);
  const auto last =
      std::find_if(series.n.rbegin(), series.n.rend(), [](double n) { return n > 0; });
  if (label.empty() || last == series.n.rend() || *last >= trials) return label;
  return label + " (" + gnuplot_number(*last) + " of " + gnuplot_number(trials) +
         " trials at the end)";
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

}  // namespace

std::vector<DrawnPanel> split_horizontal(const DrawnPanel& panel, std::size_t rows) {
  const std::size_t names = panel.y.ticks.size();
  if (!panel.horizontal_bars || names <= rows) return {panel};
  const std::size_t pieces = (names + rows - 1) / rows, each = (names + pieces - 1) / pieces;
  std::vector<DrawnPanel> out;
  for (std::size_t first = 0; first < names; first += each) {
    const std::size_t end = std::min(first + each, names);
    DrawnPanel& piece = out.emplace_back(panel);
    piece.title += ", " + std::to_string(first + 1) + " to " + std::to_string(end);
    piece.y.low = static_cast<double>(end) + 0.5;
    piece.y.high = static_cast<double>(first) + 0.5;
    const auto outside = [&](double at) { return at < piece.y.high || at > piece.y.low; };
    std::erase_if(piece.y.ticks, [&](const Tick& tick) { return outside(tick.at); });
    for (DrawnCurve& curve : piece.curves) {
      for (auto& run : curve.runs)
        std::erase_if(run, [&](const DrawnPoint& point) { return outside(point.x); });
      std::erase_if(curve.runs, [](const auto& run) { return run.empty(); });
    }
  }
  return out;
}

DrawnPanel make_panel(const Panel& source, const std::map<std::string, Series>& series,
                      double trials) {
  DrawnPanel panel;
  panel.title = one_line(source.title);
  panel.x_label = one_line(source.x.label);
  panel.y_label = one_line(source.y.label);
  panel.horizontal_bars = has_horizontal_bars(source);
  const bool log_x = source.x.scale == Scale::log, log_y = source.y.scale == Scale::log;
  const std::vector<std::size_t> color = colors(source.curves);
  for (std::size_t i = 0; i < source.curves.size(); ++i) {
    const Curve& curve = source.curves[i];
    DrawnCurve drawn;
    drawn.look = look_of(curve.style);
    drawn.runs = thinned(drawn_runs(with_requested_band(series.at(curve.series), curve, trials),
                                    curve, log_x, log_y),
                         log_x, drawn.look != Look::scatter && drawn.look != Look::bars);
    if (is_unit_axis(source.y)) keep_in_unit_interval(drawn.runs);
    drawn.color = color[i];
    drawn.band = has_band(drawn.runs);
    const std::string label = label_of(curve, series.at(curve.series), trials);
    if (!label.empty()) panel.legend.push_back({label, Sample::curve, i});
    panel.curves.push_back(std::move(drawn));
  }
  place_bars(panel, bar_distance(source.curves, series));
  make_axes(panel, source);
  add_markers(panel, source.curves);
  add_bands(panel, source);
  add_lines(panel, source);
  if (panel.horizontal_bars) swap_axes(panel);
  return panel;
}

}  // namespace ranklab
