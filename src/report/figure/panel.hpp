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
  std::size_t color = 0;  // palette index
  bool band = false;      // has an error band (lines) or error bars (scatter, bars)
  // Bars: the edges of a bar relative to the x of its point; bars of several curves are side by
  // side. The fill is the density of the color.
  double bar_left = 0.0, bar_right = 0.0, bar_fill = 1.0;
};

struct DrawnLine {
  double y = 0.0;
  std::size_t dash = 0;  // lines in the legend have different dashes
  std::string label;     // next to the panel; empty: no label, or in the legend
};

struct DrawnBand {
  double low = 0.0, high = 0.0;  // inside the x axis
  std::size_t color = 0;         // palette index
};

/// The sample before a label in the legend.
enum class Sample { curve, line, band };

struct LegendEntry {
  std::string label;
  Sample sample = Sample::curve;
  std::size_t index = 0;  // of the curve or the band, or the reference line's dash
};

struct DrawnPanel {
  std::string title, x_label, y_label;
  // Bars with many names are horizontal, so that the names are readable: x is the axis of the
  // values, y the axis of the names, from top to bottom. Points and bars keep their coordinates;
  // the drawing code swaps them.
  bool horizontal_bars = false;
  DrawnAxis x, y;
  std::vector<DrawnCurve> curves;
  std::vector<DrawnLine> lines;
  std::vector<DrawnBand> bands;
  std::vector<LegendEntry> legend;
  bool empty = false;  // no value that its axes can show
  double bar_foot =
      0.0;  // the start of bars: 0, or 1 on a log axis, from which bars of smaller values go down
};

/// `trials` is the number of trials over which the series are means; 0: unknown.
DrawnPanel make_panel(const Panel& panel, const std::map<std::string, Series>& series,
                      double trials);

/// A panel with horizontal bars, split into panels of at most `rows` names each, over the same
/// range of values.
std::vector<DrawnPanel> split_horizontal(const DrawnPanel& panel, std::size_t rows);

}  // namespace ranklab
