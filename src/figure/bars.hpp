// The widths and fills of bars, and panels with more horizontal bars than fit.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "figure/panel.hpp"

namespace ranklab {

/// The smallest distance in x between two points of one curve of bars, drawn or undefined; 1 if no
/// curve has two points.
double bar_distance(const std::vector<Curve>& curves, const std::map<std::string, Series>& series);

/// Bars are side by side over four fifths of the distance between points. They differ in the
/// density of their color, so that they are distinct without color.
void place_bars(DrawnPanel& panel, double distance);

/// A panel with horizontal bars, split into panels of at most `rows` names each, over the same
/// range of values.
std::vector<DrawnPanel> split_horizontal(const DrawnPanel& panel, std::size_t rows);

}  // namespace ranklab
