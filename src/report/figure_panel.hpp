// One panel of a figure, ready to be placed: axes, points, looks and legend, but no positions yet.
#pragma once

#include <string>
#include <vector>

#include "report/figure_axis.hpp"
#include "report/figure_curve.hpp"
#include "report/figure_json.hpp"

namespace ranklab {

enum class Look { solid, dashed, dotted, scatter };

struct DrawnCurve {
  Runs runs;
  std::vector<DrawnPoint> markers;
  Look look = Look::solid;
  std::size_t colour = 0;  // palette index
  bool band = false;       // has an error band (lines) or error bars (scatter)
};

struct DrawnLine {
  double y = 0.0;
  std::string label;  // beside the panel; empty: none, or in the legend
};

/// A sample of a curve or, where `curve` is -1, of a reference line.
struct LegendEntry {
  std::string label;
  int curve = -1;
};

struct DrawnPanel {
  std::string title, x_label, y_label;
  DrawnAxis x, y;
  std::vector<DrawnCurve> curves;
  std::vector<DrawnLine> lines;
  std::vector<LegendEntry> legend;
  bool empty = false;  // no value that its axes can show
};

DrawnPanel make_panel(const Panel& panel, const std::map<std::string, Series>& series);

}  // namespace ranklab
