// The positions of all parts of a figure, in pixels from the top left corner. All room is computed
// from the text that must fit, so no legend or label covers data.
#pragma once

#include <string>
#include <vector>

#include "report/figure/panel.hpp"

namespace ranklab {

/// Font sizes in pixels.
struct FontSize {
  static constexpr double title = 15, panel = 13, axis = 12, tick = 11, legend = 11, note = 10;
};

struct PlacedPanel {
  DrawnPanel panel;
  double left = 0, top = 0, width = 0, height = 0;   // of the plotting area
  std::vector<std::string> title, x_label, y_label;  // lines
  double x_label_top = 0, legend_left = 0, legend_top = 0, legend_column = 0;
  std::size_t legend_columns = 1;
  bool slanted = false;  // names of x ticks are slanted, because they are too wide for one row
  std::size_t name_every = 1;  // only every name_every-th x tick has a name
};

struct PlacedFigure {
  double width = 0, height = 0;
  std::vector<std::string> title, subtitle;
  std::string note;  // at the bottom: the meaning of the bands, and problems of the run
  std::vector<PlacedPanel> panels;
};

/// The height of a line in pixels.
constexpr double line_height(double font_size) {
  return 1.35 * font_size;
}

PlacedFigure place_figure(const FigureSource& source);

}  // namespace ranklab
