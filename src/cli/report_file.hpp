// The report of one's own in a preset file, for a result that exists.
#pragma once

#include <string>

#include "own/report.hpp"

namespace ranklab {

/// Of --with: the name of a preset, or a file with a preset or with an object that has "report"
/// alone. Throws UsageError for a file without one, and for a preset of another command.
OwnReport report_for(const ResultFile& result, const std::string& name_or_path);

}  // namespace ranklab
