// One result in the report.
#pragma once

#include <string>
#include <vector>

#include "report/page/entry.hpp"

namespace ranklab {

/// The section, headed <h3>, with the entry's anchor as its id; ids inside its figure start with that. `all` are the results of
/// the page, to which it may point.
std::string section_html(const Entry& entry, const std::vector<Entry>& all);

}  // namespace ranklab
