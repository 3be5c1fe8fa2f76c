// Sentences of results, which are written in plain characters, set as mathematical text.
#pragma once

#include <string_view>

#include "report/figure/markup.hpp"

namespace ranklab {

/// "E[xi_i] >= lambda^2" with Greek letters, subscripts and superscripts; ">=", "<=",
/// "+-", "->", "||" and "sqrt" as signs; 1e-06 as a power of ten. Identifiers such as
/// rank_one_residual and words such as lambda-skip are unchanged.
Markup prose(std::string_view text);

}  // namespace ranklab
