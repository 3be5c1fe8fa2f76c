// Results for readers: one self-contained HTML page without external resources, and pages in
// Markdown. The same results give the same bytes.
#pragma once

#include <string>
#include <vector>

#include "report/result_file.hpp"

namespace ranklab {

/// The page. `file_names` are the paths of the results, in the same order; a path appears in the
/// command that repeats a run if no preset describes the run. A figure that cannot be drawn is
/// shown as such; it never stops the page.
std::string html_report(const std::vector<ResultFile>& results,
                        const std::vector<std::string>& file_names);

/// The same overview for a README: counts, findings and pictures, as HTML that Markdown allows.
/// Each picture is expected next to its result, as .svg instead of .json.
std::string markdown_gallery(const std::vector<ResultFile>& results,
                             const std::vector<std::string>& file_names);

/// Every statement of the papers with its verdict, as Markdown that links to the HTML page at
/// `page`.
std::string markdown_statements(const std::vector<ResultFile>& results,
                                const std::vector<std::string>& file_names,
                                const std::string& page);

}  // namespace ranklab
