// Checks a report of one's own before the run, on made-up numbers: every name, place and formula.
#pragma once

#include <vector>

#include "cli/quantities.hpp"
#include "cli/resolve.hpp"

namespace ranklab {

/// Throws UsageError about the first mistake in the report of the preset, and in statements of
/// --claim. Numbers that only some runs have count as measured.
void check_report(const ResolvedRun& run);

/// The quantities of the report: where they are measured, over what, with their labels and
/// formulas.
std::vector<ListedQuantity> own_quantities(const ResolvedRun& run);

}  // namespace ranklab
