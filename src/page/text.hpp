// Numbers, durations, tables and words of a shell as HTML text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "figure/markup.hpp"
#include "result/standing.hpp"

namespace ranklab {

/// A number with four significant digits (integers in full), an undefined one as a dash with a tool
/// tip.
Markup html_number(double value);

/// "8 s", "13 min", "1.5 h"; empty if the value is undefined.
Markup html_duration(double seconds);

/// A text in the color of a standing.
Markup colored(Standing standing, const Markup& text);

/// A table cell that carries the name of its column, which is shown if a narrow screen folds the
/// table into cards.
Markup cell(const Markup& column, const Markup& content);

/// The beginning of a table, up to its body.
Markup table_start(const Markup& caption, const std::vector<Markup>& columns, const Markup& kind);

/// A word for a POSIX shell, quoted if necessary.
std::string shell_word(const std::string& word);

}  // namespace ranklab
