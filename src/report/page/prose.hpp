// Sentences of results as a mathematician would set them: they are written in plain characters.
#pragma once

#include <string>
#include <string_view>

namespace ranklab {

/// Escaped HTML: "E[xi_i] >= lambda^2" with Greek letters, sub- and superscripts; ">=", "<=", "+-", "->", "||" and "sqrt" as signs,
/// 1e-06 as a power of ten. Identifiers such as rank_one_residual and words such as lambda-skip stay as they are.
std::string prose(std::string_view text);

/// A claim's id or another name, escaped, that breaks after "/", and after "-" and "." where no digit follows; never inside a word.
std::string html_id(std::string_view id);

}  // namespace ranklab
