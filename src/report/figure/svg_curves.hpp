// The curves of a panel as SVG elements.
#pragma once

#include <string>

#include "report/figure/layout.hpp"

namespace ranklab {

/// Bands are below all lines and markers on top, so that a later band does not cover an earlier
/// line. Lines end at the top and the bottom of the panel.
std::string curves_svg(const PlacedPanel& placed);

}  // namespace ranklab
