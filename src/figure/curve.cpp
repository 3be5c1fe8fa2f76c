#include "figure/curve.hpp"

#include <algorithm>
#include <cmath>

#include "core/undefined.hpp"

namespace ranklab {
namespace {

// Below this a log axis could not be widened.
constexpr double smallest_positive = 1e-290;

std::size_t count(const Segments& segments) {
  std::size_t points = 0;
  for (const auto& segment : segments) points += segment.size();
  return points;
}

void set_band(DrawnPoint& point, double std, bool log_y) {
  point.low = point.high = point.y;
  if (std::isnan(std)) point.low = point.high = undefined;
  if (!(std > 0)) return;
  point.high = point.y + std;
  point.low = log_y ? std::max(smallest_positive, point.y / (1.0 + std / point.y)) : point.y - std;
}

// The lowest and the highest point of each stretch of `run`, in order, and the two ends of `run`.
std::vector<DrawnPoint> thinned_by_extremes(const std::vector<DrawnPoint>& segment, double low,
                                            double high, bool log_x, std::size_t stretches) {
  const auto scaled = [&](double x) { return log_x ? std::log(x) : x; };
  const double origin = scaled(low),
               scale = static_cast<double>(stretches) / std::max(scaled(high) - origin, 1e-300);
  const auto stretch = [&](const DrawnPoint& point) {
    return std::floor((scaled(point.x) - origin) * scale);
  };
  std::vector<DrawnPoint> out = {segment.front()};
  for (std::size_t begin = 1; begin + 1 < segment.size();) {
    std::size_t lowest = begin, highest = begin, end = begin;
    for (; end + 1 < segment.size() && stretch(segment[end]) == stretch(segment[begin]); ++end) {
      if (segment[end].y < segment[lowest].y) lowest = end;
      if (segment[end].y > segment[highest].y) highest = end;
    }
    out.push_back(segment[std::min(lowest, highest)]);
    if (lowest != highest) out.push_back(segment[std::max(lowest, highest)]);
    begin = end;
  }
  if (segment.size() > 1) out.push_back(segment.back());
  return out;
}

// Every k-th point and the last one, for data whose order along x has no meaning.
std::vector<DrawnPoint> thinned_evenly(const std::vector<DrawnPoint>& segment, std::size_t every) {
  std::vector<DrawnPoint> out;
  for (std::size_t i = 0; i < segment.size(); i += every) out.push_back(segment[i]);
  if ((segment.size() - 1) % every != 0) out.push_back(segment.back());
  return out;
}

}  // namespace

Segments segments_of(const Series& series, const Curve& curve, bool log_x, bool log_y) {
  Segments segments;
  bool gap = true;
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    DrawnPoint point{series.x[i] + curve.x_offset, series.mean[i], 0, 0};
    const bool shown = std::isfinite(point.x) && std::isfinite(point.y) &&
                       (!log_x || point.x >= smallest_positive) &&
                       (!log_y || point.y >= smallest_positive);
    if (shown) {
      set_band(point, series.std[i], log_y);
      if (gap) segments.emplace_back();
      segments.back().push_back(point);
    }
    gap = !shown;
  }
  return segments;
}

Segments thinned(const Segments& segments, bool log_x, bool lines, std::size_t stretches) {
  const std::size_t points = count(segments), longest = (lines ? 2 : 5) * stretches;
  if (points <= longest) return segments;
  const bool ordered = std::all_of(segments.begin(), segments.end(), [](const auto& segment) {
    return std::is_sorted(segment.begin(), segment.end(),
                          [](const DrawnPoint& a, const DrawnPoint& b) { return a.x < b.x; });
  });
  Extent x;
  for (const auto& segment : segments) {
    for (const DrawnPoint& point : segment) x.include(point.x);
  }
  Segments out;
  for (const auto& segment : segments) {
    out.push_back(lines && ordered ? thinned_by_extremes(segment, x.low, x.high, log_x, stretches)
                                   : thinned_evenly(segment, (points + longest - 1) / longest));
  }
  return out;
}

bool has_band(const Segments& segments) {
  for (const auto& segment : segments) {
    for (const DrawnPoint& point : segment) {
      if (point.high > point.low) return true;
    }
  }
  return false;
}

std::vector<DrawnPoint> marker_points(const Segments& segments, const DrawnAxis& x, double phase) {
  constexpr std::size_t all_below = 13;
  constexpr double markers = 7;
  std::vector<DrawnPoint> out;
  const bool all = count(segments) < all_below;
  double next = phase / markers;
  for (const auto& segment : segments) {
    for (const DrawnPoint& point : segment) {
      const double at = x.fraction(point.x);
      if (!all && at < next) continue;
      out.push_back(point);
      // Relative to the axis and not to the last marker, so that markers of curves with equal x
      // stay staggered.
      while (next <= at) next += 1.0 / markers;
    }
  }
  return out;
}

}  // namespace ranklab
