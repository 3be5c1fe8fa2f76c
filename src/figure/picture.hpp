// Pictures of result files: SVG is written here, and rsvg-convert, a separate program, turns it
// into PNG, PDF and EPS.
#pragma once

#include <string>
#include <vector>

#include "figure/layout.hpp"
#include "figure/svg_pen.hpp"

namespace ranklab {

/// Draws the figure of a result into `out_path`, whose ending chooses the format, and its further
/// figures into files next to it: x.svg, x.2.svg, x.3.svg. Returns the paths. Missing folders are
/// created, and a picture appears whole or not at all; `out_path` appears after all others. Throws
/// UsageError for another ending or a font that is not installed, Failure for a broken figure, an
/// unwritable path, or a missing rsvg-convert if the format needs it.
std::vector<std::string> draw_figure(const ResultFile& result, const std::string& out_path,
                                     Print print = {});

/// A figure as an `<svg>` element. `which` is 0 for the figure of the result and counts its further
/// figures from 1; `panel` is that of a thumbnail. A page gives the `sheet` of its pens.
Markup draw_svg(const ResultFile& result, Extract extract = Extract::whole, std::size_t which = 0,
                std::size_t panel = 0, PenSheet* sheet = nullptr, const Print& print = {});

}  // namespace ranklab
