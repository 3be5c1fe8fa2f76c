// One result in the report.
#pragma once

#include <vector>

#include "figure/svg_pen.hpp"
#include "page/entry.hpp"

namespace ranklab {

/// The section with an <h3> heading and the entry's anchor as its id; ids inside its figure start
/// with the anchor. `all` are the results of the page, to which the section may link, and `pens`
/// those of its pictures.
Markup section_html(const Entry& entry, const std::vector<Entry>& all, PenSheet& pens);

}  // namespace ranklab
