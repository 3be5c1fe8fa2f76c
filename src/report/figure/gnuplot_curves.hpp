// The curves of a panel as gnuplot text: blocks of numbers and the plot command that draws them.
#pragma once

#include <string>

#include "report/figure/panel.hpp"

namespace ranklab {

/// "dt ... lw ..." for a line and for the thin line of a single trial, "pt ... ps ..." for a
/// marker, "lc rgb ..." for a color of the palette; a curve and its legend entry share them.
std::string line_text(Look look);
std::string thin_line_text(Look look);
std::string marker_text(std::size_t color);
std::string color_text(std::size_t color);
/// "fs ..." for a bar, with its border.
std::string fill_text(double fill, std::size_t color);

/// The data blocks of a panel, with `panel_number` in their names, and its plot command.
std::string plot_text(const DrawnPanel& panel, int panel_number);

}  // namespace ranklab
