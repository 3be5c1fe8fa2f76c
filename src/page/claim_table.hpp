// Claims as a table: one sentence, the measured value and the expected value in columns; level,
// number of trials and provenance on a second line.
#pragma once

#include "page/entry.hpp"
#include "result/standing.hpp"

namespace ranklab {

/// The verdict on a claim as word, symbol and color; each is sufficient on its own. Of a claim that
/// is judged elsewhere it names the preset.
Markup standing_html(const Claim& claim);

/// The beginning of a table of claims, up to its first claim.
Markup claim_table_start(const Markup& caption);

/// The two rows of a claim, as a part of the table with the anchor as its id if there is one.
/// `source` is HTML for the second line: where the claim is from.
Markup claim_rows(const Claim& claim, const PageAnchor* anchor, const Markup& source);

}  // namespace ranklab
