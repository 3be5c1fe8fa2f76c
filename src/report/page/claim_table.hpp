// Claims as a table: one sentence, the measured value and the expected value in columns; level,
// number of trials and provenance on a second line.
#pragma once

#include <string>

#include "report/standing.hpp"

namespace ranklab {

/// The verdict on a claim as word, symbol and color; each is sufficient on its own. Of a claim that
/// is judged elsewhere it names the preset.
std::string standing_html(const Claim& claim);

/// The beginning of a table of claims, up to its first row.
std::string claim_table_start(const std::string& caption);

/// The two rows of a claim. `place` is HTML for the second line: where the claim is from.
std::string claim_rows(const Claim& claim, const std::string& place);

}  // namespace ranklab
