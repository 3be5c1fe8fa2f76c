// Results for readers: one self-contained HTML page without scripts and external resources, and a
// gallery. The same results give the same bytes.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "report/page/entry.hpp"

namespace ranklab {

/// Draws all figures of a result for the page. A missing gnuplot, or a figure that cannot be drawn,
/// is a problem that the page shows.
DrawnPictures draw_pictures(const nlohmann::json& result);

/// The page. `file_names` are the paths of the results, in the same order; a path appears in the
/// command that repeats a run if no preset describes the run. `pictures` are those of
/// draw_pictures; missing ones are drawn here, so a caller that renews a page draws only new
/// results. Parts of a document that are missing or have the wrong type are shown as such. They
/// never stop the page.
std::string html_report(const std::vector<nlohmann::json>& results,
                        const std::vector<std::string>& file_names,
                        const std::vector<DrawnPictures>& pictures = {});

/// The same overview for a README: counts, findings and pictures, as HTML that Markdown allows.
/// Each picture is expected next to its result, as .svg instead of .json.
std::string markdown_gallery(const std::vector<nlohmann::json>& results,
                             const std::vector<std::string>& file_names);

}  // namespace ranklab
