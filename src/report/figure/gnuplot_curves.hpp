// The curves of a panel as gnuplot text: blocks of numbers and the plot command that draws them.
#pragma once

#include <string>

#include "report/figure/panel.hpp"

namespace ranklab {

/// "dt ... lw ..." of a line, "pt ... ps ..." of a marker, "lc rgb ...": shared by the curve and its legend entry.
std::string line_text(const DrawnCurve& curve);
std::string marker_text(const DrawnCurve& curve);
std::string colour_text(const DrawnCurve& curve);
/// "fs ..." of a bar, with its border.
std::string fill_text(const DrawnCurve& curve);

/// The data blocks of a panel, with `panel_number` in their names, and its plot command.
std::string plot_text(const DrawnPanel& panel, int panel_number);

}  // namespace ranklab
