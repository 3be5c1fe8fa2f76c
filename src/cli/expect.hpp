// --expect: whether a run gives the published verdicts.
#pragma once

#include <string>

#include "cli/resolve.hpp"
#include "result/result_file.hpp"

namespace ranklab {

inline constexpr char no_published_verdicts[] =
    "this program was built without published verdicts (results/reference)";

/// Why there are no published verdicts on the preset of the run, as it is on this machine; empty:
/// there are.
std::string why_not_published(const ResolvedRun& run);

/// Throws UsageError if the run has --expect, but is neither a preset with published verdicts nor a
/// shorter run of it.
void require_published(ResolvedRun& run);

/// True if a claim fails that is not expected to. A slip as printed fails by design, and so does
/// what the preset's published result has as failing.
bool fails_unexpectedly(const ResultFile& result);

}  // namespace ranklab
