// Values of a result document as HTML text, for any type.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace ranklab {

/// Plain text of any value: strings unchanged, null as "", everything else as JSON.
std::string plain(const nlohmann::json& value);

/// The same, escaped for HTML.
std::string html(const nlohmann::json& value);

/// A number with four significant digits (integers in full), null as a dash with a tool tip,
/// everything else as escaped text.
std::string html_number(const nlohmann::json& value);

/// "8 s", "13 min", "1.5 h"; empty if the value is not a number.
std::string html_duration(const nlohmann::json& seconds);

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
