// The panels of a figure in rows and columns, with their ticks, labels and legends.
#pragma once

#include <vector>

#include "report/figure/layout.hpp"

namespace ranklab {

inline constexpr std::size_t most_columns = 5;

/// The width of a figure and the height of its panels in pixels, which depend on the panels per
/// row.
double figure_width(std::size_t columns);
double panel_height(std::size_t columns);

/// Places the panels from (0, 0) on, centered below a table that is `table_width` wide if that is
/// wider. Panels of one group show a common axis, common labels of lines and a common legend once.
PlacedFigure place_grid(std::vector<DrawnPanel> panels, std::size_t columns, double table_width);

}  // namespace ranklab
