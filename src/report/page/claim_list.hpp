// The claims of one result on the page.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "report/page/entry.hpp"
#include "report/page/statements.hpp"

namespace ranklab {

/// Word, symbol and colour: each is enough alone.
std::string verdict_html(const nlohmann::json& claim);

/// "✗ 2 fail, ✓ 7 hold, ○ 1 n/a"; a misprint counts once.
std::string counts_html(const StandingCounts& counts);

/// The failing claims and, where room is left, some that hold, a line each.
std::string claim_lines_html(const Entry& entry);

/// How many claims of another figure the result has, with a link to where they are judged; empty where there is none.
std::string elsewhere_html(const Entry& entry, const std::vector<Entry>& all);

/// All of the result's claims with statement and evidence, folded.
std::string claims_html(const Entry& entry);

}  // namespace ranklab
