// "Misprints and open points": every misprinted statement beside its corrected form, every other failure with its reason.
#pragma once

#include <string>
#include <vector>

#include "report/page/entry.hpp"
#include "report/page/statements.hpp"

namespace ranklab {

/// Empty where nothing is misprinted, fails or stays open.
std::string open_points_html(const std::vector<JudgedStatement>& statements, const std::vector<Entry>& entries);

}  // namespace ranklab
