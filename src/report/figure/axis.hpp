// The range and the ticks of an axis. gnuplot's automatic choices are not used: labels of known
// width let the layout reserve exactly the necessary room, and text of result files never reaches
// gnuplot's format language.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "report/result.hpp"

namespace ranklab {

struct Tick {
  double at = 0.0;
  std::string label;  // empty: no label. Numbers are in gnuplot's enhanced notation (10^{−3}),
                      // names are plain text.
  std::string plain;  // the label as a reader sees it, for its width
  bool minor = false;
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
