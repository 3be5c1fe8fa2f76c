// Checks a report of one's own before the run, on made-up numbers: every name, place and formula.
#pragma once

#include "cli/resolve.hpp"

namespace ranklab {

/// Throws UsageError about the first mistake in the report of the preset, and in statements of
/// --claim. Numbers that only some runs have count as measured.
void check_report(const ResolvedRun& run);

}  // namespace ranklab
