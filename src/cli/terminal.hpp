// Where words are shown: how wide a terminal is, whether it shows colours, and text made to fit.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/machine.hpp"

namespace ranklab {

/// What a page of text is wide where nothing says otherwise.
inline constexpr std::size_t page_columns = 100;

/// True for a terminal, unless the environment's NO_COLOR (https://no-color.org) or TERM=dumb says no.
bool shows_colours(int descriptor);

/// The text in lines of at most `columns` columns, broken at blanks; the later ones are indented. Ends with a line break.
std::string wrapped(const std::string& text, std::size_t indent, std::size_t columns = page_columns);

/// The text, or its beginning and an ellipsis where it is wider. Characters of UTF-8 count one column and stay whole.
std::string shortened(const std::string& text, std::size_t columns);

/// The words of a command line as a shell reads them back.
std::string shell_words(const std::vector<std::string>& words);

}  // namespace ranklab
