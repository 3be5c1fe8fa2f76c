// Claims as a table: one sentence, the measured value and the expected value in columns; level,
// number of trials and provenance on a second line.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "report/page/statements.hpp"

namespace ranklab {

/// ✓, ✎, ✗, △, ? or ○.
const char* symbol_of(Standing standing);

/// A verdict as word, symbol and color; each is sufficient on its own.
std::string standing_html(Standing standing);

/// The beginning of a table of claims, up to its first row. `kind` is its class.
std::string claim_table_start(const std::string& caption);

/// The two rows of a claim. `standing` differs from the claim's own verdict for a misprint. `place`
/// is HTML for the second line: where the claim is from.
std::string claim_rows(const nlohmann::json& claim, Standing standing, const std::string& place);

}  // namespace ranklab
