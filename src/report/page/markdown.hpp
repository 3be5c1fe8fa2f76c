// Text and links in Markdown, as CommonMark and GitHub read it.
#pragma once

#include <string>
#include <vector>

#include "report/figure/markup.hpp"

namespace ranklab {

using Markdown = Safe<struct CommonMark>;

/// The words of a result as one line of Markdown, in which they start no block, emphasis, code,
/// formula or link.
Markdown markdown(const Markup& html);

/// The same without escapes, for the words of the catalog.
Markdown on_one_line(const Markup& html);

/// The row of a table; a | in a cell does not end it.
Markdown table_row(const std::vector<Markdown>& cells);

/// A path as the target of a link. It is relative and percent-encoded, so it has no scheme.
Markdown link_target(const std::string& path);

}  // namespace ranklab
