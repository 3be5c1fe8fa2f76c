// The points of a curve as they are drawn: gaps, error bands, thinning, markers.
#pragma once

#include <vector>

#include "report/figure/axis.hpp"
#include "report/result.hpp"

namespace ranklab {

struct DrawnPoint {
  double x, y;
  double low, high;  // the error band; equal to y where the spread is zero, NaN where it is unknown
};

/// Stretches without a gap; a null, or a value that a log axis cannot show, is a gap.
using Runs = std::vector<std::vector<DrawnPoint>>;

/// The points that the axes can show. The band's lower edge is mean - std, on a log axis mean / (1 + std / mean), which
/// mirrors the upper edge and stays positive.
Runs drawn_runs(const Series& series, const Curve& curve, bool log_x, bool log_y);

/// At most about 600 points: of each of 300 stretches of the x axis the lowest and the highest, so that peaks survive, and
/// always a run's first and last. Points of scatter plots (`lines` false) are taken evenly instead.
Runs thinned(const Runs& runs, bool log_x, bool lines);

/// True where some point has a spread.
bool has_band(const Runs& runs);

/// A few points spread evenly along the axis, for markers that tell curves apart without colour. `phase` in [0, 1)
/// shifts them, so that markers of neighbouring curves do not meet.
std::vector<DrawnPoint> marker_points(const Runs& runs, const DrawnAxis& x, double phase);

}  // namespace ranklab
