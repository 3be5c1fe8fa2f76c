// The value of an undefined number: the mean of nothing, a ratio with denominator zero, a bound
// whose hypothesis is not met. JSON stores it as null.
#pragma once

#include <limits>

namespace ranklab {

inline constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

}  // namespace ranklab
