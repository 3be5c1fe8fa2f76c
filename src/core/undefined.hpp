// The value of what has none: a mean of nothing, a ratio by zero, a bound whose hypothesis is not met. JSON writes it as null.
#pragma once

#include <limits>

namespace ranklab {

inline constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

}  // namespace ranklab
