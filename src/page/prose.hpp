// Sentences of results, which are written in plain characters, set as mathematical text.
#pragma once

#include <string_view>

#include "figure/markup.hpp"

namespace ranklab {

/// The text with its symbols (figure/symbols.hpp) as HTML; what stands between backticks is
/// code.
Markup prose(std::string_view text);

}  // namespace ranklab
