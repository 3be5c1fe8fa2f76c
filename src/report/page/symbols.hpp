// The symbols that claims and pictures use, each explained once, with formulas in MathML.
#pragma once

#include <string>

namespace ranklab {

std::string symbols_html();

}  // namespace ranklab
