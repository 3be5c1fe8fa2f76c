// Results for readers: one self-contained HTML page without scripts and external resources, and a
// gallery. The same results give the same bytes.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace ranklab {

/// The page. `file_names` are the paths of the results, in the same order; a path appears in the
/// command that repeats a run if no preset describes the run. Parts of a document that are
/// missing or have the wrong type, and figures that cannot be drawn, are shown as such. They never
/// stop the page.
std::string html_report(const std::vector<nlohmann::json>& results,
                        const std::vector<std::string>& file_names);

/// The same overview for a README: counts, findings and pictures, as HTML that Markdown allows.
/// Each picture is expected next to its result, as .svg instead of .json.
std::string markdown_gallery(const std::vector<nlohmann::json>& results,
                             const std::vector<std::string>& file_names);

/// Every statement of the papers with its verdict, as Markdown that links to the HTML page at
/// `page`.
std::string markdown_statements(const std::vector<nlohmann::json>& results,
                                const std::vector<std::string>& file_names,
                                const std::string& page);

}  // namespace ranklab
