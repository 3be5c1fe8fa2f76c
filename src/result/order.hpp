// The order in which results are listed.
#pragma once

#include <string>

namespace ranklab {

/// Numbers compare by value: "fig-2" before "fig-14", "fig-4" before "fig-4-variants".
bool natural_less(const std::string& a, const std::string& b);

/// A paper's figures first, then its tables and theorems.
bool figure_less(const std::string& a, const std::string& b);

}  // namespace ranklab
