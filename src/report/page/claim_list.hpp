// The claims of one result on the page.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "report/page/entry.hpp"
#include "report/page/statements.hpp"

namespace ranklab {

/// "✗ 2 fail, ✓ 7 hold, ? 1 undecided"; a misprint counts once.
std::string counts_html(const StandingCounts& counts);

/// The failing claims and, if there is room, some that hold, one line each.
std::string claim_lines_html(const Entry& entry);

/// The number of claims about other figures, with links to the results that judge them; empty if
/// there are none.
std::string elsewhere_html(const Entry& entry, const std::vector<Entry>& all);

/// All of the result's claims with statement and evidence, folded.
std::string claims_html(const Entry& entry);

}  // namespace ranklab
