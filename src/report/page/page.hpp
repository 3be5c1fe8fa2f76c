// Results for readers: one self-contained HTML page, without scripts or outside resources, and a gallery. Same results, same bytes.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace ranklab {

/// The page. `file_names`, of the same length, is where each result was read from; it appears in the command that repeats
/// a run that no preset describes. `pictures` are the figures as draw_svg returns them; one that is empty or missing is drawn
/// here, so that a caller who renews a page draws only what is new. Parts of a document that are missing or of the wrong type are
/// shown as such and never stop the page, nor does a missing gnuplot or a figure that cannot be drawn.
std::string html_report(const std::vector<nlohmann::json>& results, const std::vector<std::string>& file_names,
                        const std::vector<std::string>& pictures = {});

/// A gallery for a README: an HTML table, which Markdown allows, of small pictures, each linked to itself at full size, with the
/// verdicts of its statements. The pictures stand beside the results, as .svg for .json.
std::string markdown_gallery(const std::vector<nlohmann::json>& results, const std::vector<std::string>& file_names);

}  // namespace ranklab
