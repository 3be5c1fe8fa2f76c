// Numbers, durations, tables and words of a shell as HTML text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ranklab {

/// A number with four significant digits (integers in full), an undefined one as a dash with a tool
/// tip.
std::string html_number(double value);

/// "8 s", "13 min", "1.5 h"; empty if the value is undefined.
std::string html_duration(double seconds);

/// A text in the color of a standing, by its name in style sheets.
std::string colored(const std::string& standing, const std::string& text);

/// A table cell that carries the name of its column, which is shown if a narrow screen folds the
/// table into cards.
std::string cell(const std::string& column, const std::string& content,
                 const std::string& kind = "");

/// The beginning of a table, up to its first row.
std::string table_start(const std::string& caption, const std::vector<std::string>& columns,
                        const std::string& kind);

/// A word for a POSIX shell, quoted if necessary.
std::string shell_word(const std::string& word);

}  // namespace ranklab
