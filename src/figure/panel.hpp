// One panel of a figure, ready to be placed: axes, points, looks and legend, but no positions yet.
#pragma once

#include <string>
#include <vector>

#include "figure/axis.hpp"
#include "figure/curve.hpp"
#include "figure/data.hpp"

namespace ranklab {

enum class Look { solid, dashed, dotted, scatter, bars };

struct DrawnCurve {
  Segments segments;
  std::vector<Segments> trials;  // thin lines, or small dots if the look is scatter
  std::vector<DrawnPoint> markers;
  Look look = Look::solid;
  std::size_t color = 0;  // palette index
  bool band = false;      // has an error band (lines) or error bars (scatter, bars)
  bool medians = false;   // scatter: the segments are dashes at medians, the markers single trials
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

/// A label of the legend with the looks that its sample shows.
struct LegendEntry {
  std::string label;
  Sample sample = Sample::curve;
  std::size_t color = 0;  // palette index of a curve or band
  std::size_t dash = 0;   // of a reference line
  Look look = Look::solid;
  double bar_fill = 1.0;
  bool band = false, markers = false, trials = false;

  bool operator==(const LegendEntry&) const = default;
};

struct DrawnPanel {
  std::string title, x_label, y_label;
  std::string group;  // panels of one group have the same axes and one legend
  // Bars with many names are horizontal, so that the names are readable: x is the axis of the
  // values, y the axis of the names, from top to bottom. Points and bars keep their coordinates;
  // the drawing code swaps them.
  bool horizontal_bars = false;
  DrawnAxis x, y;
  std::vector<DrawnCurve> curves;
  std::vector<DrawnLine> lines;
  std::vector<DrawnBand> bands;
  std::vector<LegendEntry> legend;
  bool in_stretches = false;  // trials oscillate, and each stretch of the x axis is one point
  bool empty = false;         // no value that its axes can show
  double bar_foot =
      0.0;  // the start of bars: 0, or 1 on a log axis, from which bars of smaller values go down
};

/// The size of the plotting areas in pixels, which decides how many ticks an axis has and how many
/// points of a long curve are drawn.
struct PanelSize {
  double width = 320, height = 240;
  std::size_t stretches = 300;  // see thinned()
};

/// The panels of a figure. Panels of one group share the ranges of their axes, and each has the
/// legend of all.
std::vector<DrawnPanel> make_panels(const FigureData& data, const PanelSize& size);

}  // namespace ranklab
