// Numbers in the names of series, scalars and claims.
#pragma once

#include <string>

namespace ranklab {

/// "%g", as the names of series print their values: `lambda=<v>.mu`.
std::string series_number(double value);

}  // namespace ranklab
