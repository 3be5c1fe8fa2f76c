// The report of one's own in a preset file, for a result that exists.
#pragma once

#include <string>

#include "own/report.hpp"

namespace ranklab {

/// Of the file at --with: a preset, or an object with "report" alone. Throws UsageError for a file
/// without one, and for a preset of another command.
OwnReport report_for(const ResultFile& result, const std::string& path);

}  // namespace ranklab
