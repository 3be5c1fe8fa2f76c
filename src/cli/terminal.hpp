// Terminal output: colors, text that fits a width, and quoting for the shell.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/machine.hpp"

namespace ranklab {

/// Width of text if the width of the terminal is unknown, in columns.
inline constexpr std::size_t page_columns = 100;

/// True if the descriptor is a terminal, NO_COLOR (https://no-color.org) is unset or empty, and
/// TERM is not "dumb".
bool shows_colors(int descriptor);

/// True if the descriptor is a terminal whose language settings say UTF-8.
bool shows_symbols(int descriptor);

/// Breaks the text at blanks into lines of at most `columns` columns and indents all lines but the
/// first. Ends with a line break.
std::string wrapped(const std::string& text, std::size_t indent,
                    std::size_t columns = page_columns);

/// The text, or its beginning and an ellipsis if it is wider than `columns`. A UTF-8 character
/// counts as one column and is never split.
std::string shortened(const std::string& text, std::size_t columns);

/// A hint that names a command as the user can type it: "`ranklab list`" becomes
/// "`build/ranklab list`" if that is how the program was called.
std::string with_program_name(std::string message, const std::string& program_name);

/// The words of a command line, quoted for the shell.
std::string shell_words(const std::vector<std::string>& words);

}  // namespace ranklab
