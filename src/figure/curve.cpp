#include "figure/curve.hpp"

#include <algorithm>
#include <cmath>

#include "core/statistics.hpp"
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

// The stretches of the x axis between two values, counted from 0.
class Stretches {
 public:
  Stretches(const Extent& x, bool log_x, std::size_t count)
      : log_x_(log_x),
        origin_(scaled(x.low)),
        scale_(static_cast<double>(count) / std::max(scaled(x.high) - origin_, 1e-300)) {}

  /// Calls take(begin, end) for the points begin to end - 1 of each stretch of the segment, in
  /// order, without its first and last point.
  template <class Take>
  void inside(const std::vector<DrawnPoint>& segment, const Take& take) const {
    for (std::size_t begin = 1; begin + 1 < segment.size();) {
      std::size_t end = begin + 1;
      while (end + 1 < segment.size() && of(segment[end]) == of(segment[begin])) ++end;
      take(begin, end);
      begin = end;
    }
  }

 private:
  double scaled(double x) const { return log_x_ ? std::log(x) : x; }
  double of(const DrawnPoint& point) const {
    return std::floor((scaled(point.x) - origin_) * scale_);
  }

  bool log_x_;
  double origin_, scale_;
};

bool is_ordered(const Segments& segments) {
  return std::ranges::all_of(segments, [](const auto& segment) {
    return std::ranges::is_sorted(segment, {}, &DrawnPoint::x);
  });
}

Extent extent_along_x(const Segments& segments) {
  Extent x;
  for (const auto& segment : segments) {
    for (const DrawnPoint& point : segment) x.include(point.x);
  }
  return x;
}

// The lowest and the highest point of each stretch, in order, and the two ends of the segment.
std::vector<DrawnPoint> thinned_by_extremes(const std::vector<DrawnPoint>& segment,
                                            const Stretches& stretches) {
  std::vector<DrawnPoint> out = {segment.front()};
  stretches.inside(segment, [&](std::size_t begin, std::size_t end) {
    std::size_t lowest = begin, highest = begin;
    for (std::size_t i = begin; i < end; ++i) {
      if (segment[i].y < segment[lowest].y) lowest = i;
      if (segment[i].y > segment[highest].y) highest = i;
    }
    out.push_back(segment[std::min(lowest, highest)]);
    if (lowest != highest) out.push_back(segment[std::max(lowest, highest)]);
  });
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
  const bool ordered = is_ordered(segments);
  const Stretches along_x(extent_along_x(segments), log_x, stretches);
  Segments out;
  for (const auto& segment : segments) {
    out.push_back(lines && ordered ? thinned_by_extremes(segment, along_x)
                                   : thinned_evenly(segment, (points + longest - 1) / longest));
  }
  return out;
}

bool oscillates(const Segments& segments) {
  constexpr double most_turns = 0.25;  // of the points
  const std::size_t points = count(segments);
  if (points <= 2 * most_visible_stretches || !is_ordered(segments)) return false;
  std::size_t turns = 0;
  for (const auto& segment : segments) {
    for (std::size_t i = 2; i < segment.size(); ++i)
      turns += (segment[i].y - segment[i - 1].y) * (segment[i - 1].y - segment[i - 2].y) < 0;
  }
  return static_cast<double>(turns) > most_turns * static_cast<double>(points);
}

Segments in_stretches(const Segments& segments, bool log_x, std::size_t stretches) {
  const Stretches along_x(extent_along_x(segments), log_x, stretches);
  Segments out;
  for (const auto& segment : segments) {
    std::vector<DrawnPoint>& points = out.emplace_back();
    points.push_back(segment.front());
    along_x.inside(segment, [&](std::size_t begin, std::size_t end) {
      std::vector<double> values;
      for (std::size_t i = begin; i < end; ++i) values.push_back(segment[i].y);
      const auto [low, high] = std::ranges::minmax(values);
      points.push_back({segment[(begin + end) / 2].x, median(values), low, high});
    });
    if (segment.size() > 1) points.push_back(segment.back());
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
