// Results for readers: one self-contained HTML page without scripts and external resources, and a
// gallery. The same results give the same bytes.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace ranklab {

/// The page. `file_names` are the paths of the results, in the same order; a path appears in the
/// command that repeats a run if no preset describes the run. `pictures` are the figures as
/// draw_svg returns them. A picture that is empty or missing is drawn here, so a caller that renews
/// a page draws only new results. Parts of a document that are missing or have the wrong type are
/// shown as such. They never stop the page, nor does a missing gnuplot or a figure that cannot be
/// drawn.
std::string html_report(const std::vector<nlohmann::json>& results,
                        const std::vector<std::string>& file_names,
                        const std::vector<std::string>& pictures = {});

/// A gallery for a README: an HTML table, which Markdown allows, of small pictures, each linked to
/// its full size, with the number of statements per verdict. Each picture is expected next to its
/// result, as .svg instead of .json.
std::string markdown_gallery(const std::vector<nlohmann::json>& results,
                             const std::vector<std::string>& file_names);

}  // namespace ranklab
