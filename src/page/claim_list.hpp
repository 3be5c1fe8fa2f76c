// The claims of one result on the page.
#pragma once

#include <vector>

#include "page/entry.hpp"
#include "result/standing.hpp"

namespace ranklab {

/// "✗ 2 fail, ✓ 7 hold, ? 1 undecided"; a corrected form counts with its form as printed.
Markup counts_html(const ClaimCounts& counts);

/// The failing claims and, if there is room, some that hold, one line each.
Markup claim_lines_html(const Entry& entry);

/// The number of claims that other presets judge, and of those that apply only to other results,
/// with links to these; empty without such claims.
Markup elsewhere_html(const Entry& entry, const std::vector<Entry>& all);

/// All of the result's claims with statement and evidence, folded, but for its own statements on a
/// page of one result.
Markup claims_html(const Entry& entry, const std::vector<Entry>& all);

}  // namespace ranklab
