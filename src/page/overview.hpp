// The beginning of the page: what it is, the verdicts, the main findings, and the contents.
#pragma once

#include <vector>

#include "figure/svg_pen.hpp"
#include "page/entry.hpp"
#include "page/paper_view.hpp"

namespace ranklab {

/// The first screen. `pens` are those of the pictures of the page.
Markup overview_html(const std::vector<Entry>& entries, const std::vector<PaperView>& views,
                     PenSheet& pens);

/// A table of all results: trials, time and verdicts, folded. `notes` are lines below it.
Markup results_html(const std::vector<Entry>& entries, const std::vector<std::string>& notes);

}  // namespace ranklab
