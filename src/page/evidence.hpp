// The measured value of a claim, its expected value, and the rest of its detail, for readers.
#pragma once

#include "figure/markup.hpp"
#include "result/result.hpp"

namespace ranklab {

/// `measured` and `expected` are empty if the claim has none.
struct ShownEvidence {
  Markup measured, expected, detail;
};

/// Counts are shown with their number of cases, means with their interval.
ShownEvidence evidence_of(const Claim& claim);

/// "> 0", "≤ 0.5", "0.9 to 1.1", "0", "any": a number, or a region that may be unbounded on one
/// side or both; empty for none.
Markup html_expected(const Claim& claim);

}  // namespace ranklab
