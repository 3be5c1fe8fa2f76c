// The beginning of the page: a description, the papers, the verdicts, and the results with their
// links.
#pragma once

#include <string>
#include <vector>

#include "report/page/entry.hpp"
#include "report/page/statements.hpp"

namespace ranklab {

std::string overview_html(const std::vector<Entry>& entries,
                          const std::vector<JudgedStatement>& statements);

/// "[Spectral] D. Davis, ...: title. arXiv:..."; escaped.
std::string citation_html(std::size_t paper);

}  // namespace ranklab
