// The points of a curve as they are drawn: gaps, error bands, thinning, markers.
#pragma once

#include <vector>

#include "figure/axis.hpp"
#include "result/result.hpp"

namespace ranklab {

struct DrawnPoint {
  double x, y;
  double low, high;  // the error band; equal to y if the spread is zero, NaN if it is unknown
};

/// Stretches without a gap. A null, or a value that a log axis cannot show, makes a gap.
using Segments = std::vector<std::vector<DrawnPoint>>;

/// The points that the axes can show. The lower edge of the band is mean - std. On a log axis it is
/// mean / (1 + std / mean), which mirrors the upper edge and is always positive.
Segments segments_of(const Series& series, const Curve& curve, bool log_x, bool log_y);

/// At most about two points per stretch: the lowest and the highest point of each of `stretches`
/// stretches of the x axis, so that peaks are kept, and always the first and last point of a
/// segment. Points of scatter plots (`lines` false) are thinned evenly instead, to five per
/// stretch.
Segments thinned(const Segments& segments, bool log_x, bool lines, std::size_t stretches);

/// True if a curve turns up and down within a few pixels, so that its line would fill an area.
bool oscillates(const Segments& segments);

/// One point per stretch of the x axis, with the median, and the smallest and the largest value as
/// its spread; and always the first and last point of a segment.
Segments in_stretches(const Segments& segments, bool log_x, std::size_t stretches);

/// At most this many stretches are wide enough to be seen apart.
inline constexpr std::size_t most_visible_stretches = 50;

/// True if a point has a spread.
bool has_band(const Segments& segments);

/// A few points spread evenly along the axis, for markers that distinguish curves without color.
/// `phase` in [0, 1) shifts the points, so that markers of neighboring curves do not coincide.
std::vector<DrawnPoint> marker_points(const Segments& segments, const DrawnAxis& x, double phase);

}  // namespace ranklab
