// The content of a figure: panels of curves over series of the result, as typed values.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace ranklab {

/// `log10`: the values are already logarithms to base 10 (of numbers that may exceed a double), and
/// the ticks show the powers.
enum class Scale { linear, log, log10 };
inline constexpr std::array<std::string_view, 3> scale_names = {"linear", "log", "log10"};

enum class LineStyle { line, dashed, dotted, points, line_points, bars };
inline constexpr std::array<std::string_view, 6> line_style_names = {
    "line", "dashed", "dotted", "points", "line+points", "bars"};

/// The name in result files.
constexpr std::string_view name_of(Scale scale) {
  return scale_names[static_cast<std::size_t>(scale)];
}
constexpr std::string_view name_of(LineStyle style) {
  return line_style_names[static_cast<std::size_t>(style)];
}

struct Axis {
  std::string label;
  Scale scale = Scale::linear;
  std::vector<std::string> ticks = {};  // names for x = 1, 2, ...; empty: numbers
  std::vector<double> covers =
      {};  // values that the axis includes, whether or not the curves reach them
};

inline Axis log_axis(std::string label) {
  return {std::move(label), Scale::log};
}

/// The axis of a quantity in [0, 1], shown in full, so that a curve between 0.99 and 1 does not
/// look like one that falls to 0.
inline Axis unit_axis(std::string label) {
  return {std::move(label), Scale::linear, {}, {0, 1}};
}

struct Curve {
  std::string series;
  std::string label;  // empty: no legend entry
  LineStyle style = LineStyle::line;
  int color = -1;  // index into the palette; -1: next. Curves of one family share a color.
  double x_offset =
      0.0;  // added to x when drawn: a restart counts from 0 but is drawn at its start
  bool standard_error = false;  // its band is the mean's standard error, not the spread over trials
};

struct ReferenceLine {
  double y;
  std::string label;
};

/// A shaded range of x over the full height of the panel, such as the iterations that a theorem
/// covers.
struct Band {
  double x_low, x_high;  // finite, x_low <= x_high
  std::string label;     // empty: no legend entry
  int color = -1;        // palette index, that of the curve it belongs to; -1: gray
};

struct Panel {
  std::string title;
  Axis x, y;
  std::vector<Curve> curves = {};
  std::vector<ReferenceLine> lines = {};
  std::vector<Band> bands = {};
};

struct Figure {
  std::vector<Panel> panels;
};

}  // namespace ranklab
