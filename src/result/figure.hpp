// The content of a figure: panels of curves over series of the result, as typed values.
#pragma once

#include <array>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace ranklab {

/// `log10`: the values are already logarithms to base 10 (of numbers that may exceed a double), and
/// the ticks show the powers. `percent`: linear, and the ticks show 50 for 0.5.
enum class Scale { linear, log, log10, percent };
inline constexpr std::array<std::string_view, 4> scale_names = {"linear", "log", "log10",
                                                                "percent"};

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

/// The smallest and the largest value that a quantity can have.
struct Domain {
  double low = -std::numeric_limits<double>::infinity(),
         high = std::numeric_limits<double>::infinity();
};

struct Axis {
  std::string label;
  Scale scale = Scale::linear;
  std::vector<std::string> ticks = {};  // names for x = 1, 2, ...; empty: numbers
  std::vector<double> covers =
      {};              // values that the axis includes, whether or not the curves reach them
  Domain domain = {};  // bands of means are cut there
  double floor = -std::numeric_limits<double>::infinity();  // the axis starts here if the data
                                                            // reach below
};

inline Axis log_axis(std::string label) {
  return {std::move(label), Scale::log};
}

/// The axis of a quantity in [0, 1], shown in full, so that a curve between 0.99 and 1 does not
/// look like one that falls to 0.
inline Axis unit_axis(std::string label) {
  return {std::move(label), Scale::linear, {}, {0, 1}, {0, 1}};
}

/// The same axis with ticks in percent; the label says "%".
inline Axis percent_axis(std::string label) {
  return {std::move(label), Scale::percent, {}, {0, 1}, {0, 1}};
}

/// The axis of a stable or nuclear rank, which is at least 1.
inline Axis rank_axis(std::string label) {
  return {std::move(label), Scale::log, {}, {}, {1}};
}

/// A linear axis of a quantity that is not negative, such as a loss.
inline Axis nonnegative_axis(std::string label) {
  return {std::move(label), Scale::linear, {}, {}, {0}};
}

/// The same axis, cut at `floor`: values below, such as losses of the size of rounding errors, are
/// outside the panel.
inline Axis with_floor(Axis axis, double floor) {
  axis.floor = floor;
  return axis;
}

/// What is drawn around a curve: a band of one standard deviation over the trials, of the standard
/// error of the mean, or of its 99 % confidence interval. `trials` draws every trial as a thin line
/// (a small dot if the style is points) and the median over the trials in place of the mean.
enum class BandKind { std, standard_error, interval, trials };
inline constexpr std::array<std::string_view, 4> band_names = {"std", "standard-error", "interval",
                                                               "trials"};
constexpr std::string_view name_of(BandKind band) {
  return band_names[static_cast<std::size_t>(band)];
}

struct Curve {
  std::string series;
  std::string label;  // empty: no legend entry
  LineStyle style = LineStyle::line;
  int color = -1;  // index into the palette; -1: next. Curves of one family share a color.
  double x_offset =
      0.0;  // added to x when drawn: a restart counts from 0 but is drawn at its start
  BandKind band = BandKind::std;
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
  std::string group = {};  // panels of one group are small multiples: they share axes and legend
  bool own = false;        // of a report of one's own
};

/// A table above the panels, such as a paper's table with our numbers next to the printed ones.
struct FigureTable {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  // one cell per column
};

struct Figure {
  std::string title = {};  // of a further figure; the first one has the title of the result
  std::vector<FigureTable> tables = {};
  std::vector<Panel> panels = {};
  std::size_t columns = 0;  // panels per row; 0: chosen by their number
};

}  // namespace ranklab
