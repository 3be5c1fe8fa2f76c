// One panel of a figure, ready to be placed: axes, points, looks and legend, but no positions yet.
#pragma once

#include <string>
#include <vector>

#include "report/figure/axis.hpp"
#include "report/figure/curve.hpp"
#include "report/figure/json.hpp"

namespace ranklab {

enum class Look { solid, dashed, dotted, scatter, bars };

struct DrawnCurve {
  Runs runs;
  std::vector<DrawnPoint> markers;
  Look look = Look::solid;
  std::size_t colour = 0;  // palette index
  bool band = false;       // has an error band (lines) or error bars (scatter, bars)
  // Bars: where each stands, from its point's x; curves of bars stand side by side. The fill is the share of colour in it.
  double bar_left = 0.0, bar_right = 0.0, bar_fill = 1.0;
};

struct DrawnLine {
  double y = 0.0;
  std::size_t dash = 0;  // of those in the legend each has another dash
  std::string label;     // beside the panel; empty: none, or in the legend
};

struct DrawnBand {
  double low = 0.0, high = 0.0;  // inside the x axis
  std::size_t colour = 0;        // palette index
};

/// What stands in front of a label in the legend.
enum class Sample { curve, line, band };

struct LegendEntry {
  std::string label;
  Sample sample = Sample::curve;
  std::size_t index = 0;  // of the curve or the band, or the reference line's dash
};

struct DrawnPanel {
  std::string title, x_label, y_label;
  // Bars with many names lie, so that the names can be read: x is the axis of the values, y that of the names, from top to
  // bottom. Points and bars stay as they are; those who draw swap them.
  bool lying = false;
  DrawnAxis x, y;
  std::vector<DrawnCurve> curves;
  std::vector<DrawnLine> lines;
  std::vector<DrawnBand> bands;
  std::vector<LegendEntry> legend;
  bool empty = false;     // no value that its axes can show
  double bar_foot = 0.0;  // where bars start: 0, on a log axis 1, from which values below hang down
};

/// `trials` are those that the series are means over; 0: unknown.
DrawnPanel make_panel(const Panel& panel, const std::map<std::string, Series>& series, double trials);

/// A lying panel as several of at most `rows` names each, over the same range of values.
std::vector<DrawnPanel> split_lying(const DrawnPanel& panel, std::size_t rows);

}  // namespace ranklab
