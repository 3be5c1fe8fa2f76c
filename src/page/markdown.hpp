// Text and links in Markdown, as CommonMark and GitHub read it.
#pragma once

#include <string>
#include <vector>

#include "page/entry.hpp"

namespace ranklab {

using Markdown = Safe<struct CommonMark>;

/// The words of a result as one line of Markdown, in which they start no block, emphasis, code,
/// formula or link.
Markdown markdown(const Markup& html);

/// The same without escapes, for text of the program that has no such sign.
Markdown on_one_line(const Markup& html);

/// The row of a table; a | in a cell does not end it.
Markdown table_row(const std::vector<Markdown>& cells);

/// A picture of a result as the target of a link: x.svg of x.json, x.2.svg for the first further
/// one.
Markdown picture_target(const Entry& entry, std::size_t which = 0);

/// The place of a result on the page of its paper: spectral.md#spectral-fig03; of a result without
/// a paper its picture.
Markdown place_target(const Entry& entry);

/// A path as the target of a link. It is relative and percent-encoded, so it has no scheme.
Markdown link_target(const std::string& path);

}  // namespace ranklab
