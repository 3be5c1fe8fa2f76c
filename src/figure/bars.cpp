#include "figure/bars.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

namespace ranklab {
namespace {

// True if no two curves have a bar at the same x, for example if colors distinguish classes. Each
// bar then takes the whole width.
bool bars_never_share_x(const DrawnPanel& panel) {
  std::set<double> taken;
  for (const DrawnCurve& curve : panel.curves) {
    for (const auto& segment : curve.segments) {
      for (const DrawnPoint& point : segment) {
        if (!taken.insert(point.x).second) return false;
      }
    }
  }
  return true;
}

}  // namespace

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
      for (auto& segment : curve.segments)
        std::erase_if(segment, [&](const DrawnPoint& point) { return outside(point.x); });
      std::erase_if(curve.segments, [](const auto& segment) { return segment.empty(); });
    }
  }
  return out;
}

}  // namespace ranklab
