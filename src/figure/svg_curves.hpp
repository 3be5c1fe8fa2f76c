// The curves of a panel.
#pragma once

#include "figure/layout.hpp"
#include "figure/svg_pen.hpp"

namespace ranklab {

/// Bands are below all lines and markers on top, so that a later band does not cover an earlier
/// line. Lines end at the top and the bottom of the panel.
Drawing drawn_curves(const PlacedPanel& placed);

}  // namespace ranklab
