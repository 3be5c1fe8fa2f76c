// A figure as SVG. The text refers to nothing by id, so a page can hold any number of drawings.
#pragma once

#include "figure/layout.hpp"
#include "figure/svg_pen.hpp"

namespace ranklab {

/// The `<svg>` element with a title and a description for screen readers. The same data gives the
/// same bytes. `panel` is that of a thumbnail. A picture of a page has the pens of the page's
/// `sheet`; a file has none.
Markup figure_svg(const FigureData& data, Extract extract = Extract::whole, std::size_t panel = 0,
                  PenSheet* sheet = nullptr, const Print& print = {});

}  // namespace ranklab
