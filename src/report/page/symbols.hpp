// The symbols of claims and pictures, each explained once, with formulas in MathML.
#pragma once

#include <string>

namespace ranklab {

std::string symbols_html();

}  // namespace ranklab
