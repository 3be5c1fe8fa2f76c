// A table inside a figure: the widths of its columns and the positions of its cells.
#pragma once

#include "figure/layout.hpp"

namespace ranklab {

/// The width in pixels of the widest table of a figure, at most `widest_figure`; 0 without a table.
double widest_table(const Figure& figure);

/// Places a table below `top`, in the middle of the figure, whose width is known. Returns its
/// bottom.
double place_table(const FigureTable& table, double top, PlacedFigure& figure);

}  // namespace ranklab
