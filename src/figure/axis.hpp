// The range and the ticks of an axis.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "result/result.hpp"

namespace ranklab {

struct Tick {
  double at = 0.0;
  std::string label;       // empty: no label
  std::string power = {};  // the exponent after a label that ends in 10
  bool minor = false;

  /// The width of the label in pixels.
  double width(double font_size) const;
};

struct DrawnAxis {
  bool log = false;
  bool named = false;
  double low = 0.0, high = 1.0;
  std::vector<Tick> ticks;

  /// Position on the axis: 0 at `low`, 1 at `high`.
  double fraction(double value) const;
  /// Width in pixels of the widest label.
  double label_width(double font_size) const;
};

/// The smallest and largest value to show.
struct Extent {
  double low, high;           // low > high: nothing to show
  bool whole = true;          // all values are whole numbers
  std::set<double> few = {};  // the values, if there are few
  Extent();
  Extent(double from, double to);
  void include(double value);
  void include(const Extent& other);
};

/// The room for an axis and its ticks.
struct AxisRoom {
  double length = 320;     // pixels
  int target = 5;          // about this many ticks
  bool at_values = false;  // ticks at the values themselves, if there are few
};

/// An axis over `extent`, widened on both sides by `padding` (a fraction of its length).
DrawnAxis make_axis(const Axis& axis, Extent extent, double padding, const AxisRoom& room);

}  // namespace ranklab
