// One result in the report.
#pragma once

#include <string>
#include <vector>

#include "report/page/entry.hpp"

namespace ranklab {

/// The section with an <h3> heading and the entry's anchor as its id; ids inside its figure start
/// with the anchor. `all` are the results of the page, to which the section may link.
std::string section_html(const Entry& entry, const std::vector<Entry>& all);

}  // namespace ranklab
