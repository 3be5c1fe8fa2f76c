// The same drawing in fewer bytes and elements. gnuplot's SVG writes every point with two decimals,
// every marker as an element of its own with a white rim as a second one, and opens a group for
// every change of its pen.
#pragma once

#include "report/figure/svg_tree.hpp"

namespace ranklab {

/// Rewrites gnuplot's drawing: coordinates in tenths of a pixel, relative to the point before; runs
/// of equal markers as one path with SVG markers; texts without groups; neighboring groups with the
/// same pen as one; no symbol that is not used.
void compact_svg(SvgNode& svg);

}  // namespace ranklab
