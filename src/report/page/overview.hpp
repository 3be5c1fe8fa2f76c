// The beginning of the page: what it is, the verdicts, the main findings, and the contents.
#pragma once

#include <string>
#include <vector>

#include "report/page/entry.hpp"
#include "report/page/statements.hpp"

namespace ranklab {

/// The first screen.
std::string overview_html(const std::vector<Entry>& entries,
                          const std::vector<JudgedStatement>& statements);

/// A table of all results: trials, time and verdicts, folded.
std::string results_html(const std::vector<Entry>& entries,
                         const std::vector<JudgedStatement>& statements);

/// "[Spectral] D. Davis, ...: title. arXiv:..."; escaped.
std::string citation_html(std::size_t paper);

}  // namespace ranklab
