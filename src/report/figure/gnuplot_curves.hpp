// The curves of a panel as gnuplot text: blocks of numbers and the plot command that draws them.
#pragma once

#include <string>

#include "report/figure/panel.hpp"

namespace ranklab {

/// "dt ... lw ..." for a line, "pt ... ps ..." for a marker, "lc rgb ..." for a color; the curve
/// and its legend entry share them.
std::string line_text(const DrawnCurve& curve);
std::string marker_text(const DrawnCurve& curve);
std::string color_text(const DrawnCurve& curve);
/// "fs ..." for a bar, with its border.
std::string fill_text(const DrawnCurve& curve);

/// The data blocks of a panel, with `panel_number` in their names, and its plot command.
std::string plot_text(const DrawnPanel& panel, int panel_number);

}  // namespace ranklab
