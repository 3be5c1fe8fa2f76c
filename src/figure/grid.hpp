// The panels of a figure in rows and columns, with their ticks, labels and legends.
#pragma once

#include <vector>

#include "figure/layout.hpp"

namespace ranklab {

inline constexpr std::size_t most_columns = 5;

/// The panels per row; in pixels, the width of all columns and the height of a panel.
struct GridSize {
  std::size_t columns = 1;
  double width = 0, panel_height = 0;
};
/// On a page, whose figures are as wide as their panels need.
GridSize page_grid(std::size_t columns);
/// In a column of a paper: at most `most_per_row` panels per row, fewer if they would be too
/// narrow.
GridSize printed_grid(double width, std::size_t most_per_row);

/// Places the panels from (0, 0) on, centered below a table that is `table_width` wide if that is
/// wider. Panels of one group show a common axis, common labels of lines and a common legend once.
PlacedFigure place_grid(std::vector<DrawnPanel> panels, const GridSize& size, double table_width);

}  // namespace ranklab
