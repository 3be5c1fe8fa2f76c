// What the name of a file says about its content: `export --out t.xlsx` would write CSV into it.
#pragma once

#include <string>

namespace ranklab {

/// Throws UsageError if the name of --out ends like a file of another kind than the command writes,
/// such as .xlsx for `export` and .csv for a run.
void require_fitting_name(const std::string& command, const std::string& out);

/// True if a name ends like a file that the command writes and that is no result, such as f.pdf for
/// `plot`.
bool names_output_of(const std::string& command, const std::string& name);

}  // namespace ranklab
