// Markers of a drawing as vertices of paths. gnuplot writes each marker as an element of its own,
// and its white rim as another one.
#pragma once

#include <vector>

#include "report/figure/svg_tree.hpp"

namespace ranklab {

/// Replaces runs of equal markers by one path each, and a path of rims together with the path of
/// its markers by one. Returns the `<marker>` elements that the paths refer to, for the definitions
/// of the drawing.
std::vector<SvgNode> join_markers(SvgNode& drawing);

}  // namespace ranklab
