// Values of a result document as HTML text, whatever their type.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace ranklab {

/// Plain text of any value: strings as they are, null as "", the rest as JSON.
std::string plain(const nlohmann::json& value);

/// The same, escaped for HTML.
std::string html(const nlohmann::json& value);

/// A number with four significant digits (whole numbers whole), null as a dash with a tool tip, the rest as escaped text.
std::string html_number(const nlohmann::json& value);

/// "4,838"
std::string grouped(std::uint64_t count);

/// "8 s", "13 min", "1.5 h"; empty for what is no number.
std::string html_duration(const nlohmann::json& seconds);

/// A cell of a table that says its own column's name where the table is folded into cards on a narrow screen.
std::string cell(const std::string& column, const std::string& content, const std::string& kind = "");

/// A table up to its first row.
std::string table_start(const std::string& caption, const std::vector<std::string>& columns, const std::string& kind);

/// A word for a POSIX shell, quoted where it has to be.
std::string shell_word(const std::string& word);

}  // namespace ranklab
