// "Misprints, failures, undecided and not applicable statements": every misprinted statement next
// to its corrected form; every other statement that fails, is undecided or is not applicable, with
// its reason.
#pragma once

#include <string>
#include <vector>

#include "report/page/entry.hpp"
#include "report/page/statements.hpp"

namespace ranklab {

/// Empty if every statement holds.
std::string open_points_html(const std::vector<JudgedStatement>& statements,
                             const std::vector<Entry>& entries);

}  // namespace ranklab
