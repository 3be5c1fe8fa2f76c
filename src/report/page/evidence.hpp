// The measured value of a claim, its expected value, and the rest of its detail, for readers.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace ranklab {

/// HTML. `measured` and `expected` are empty if the claim has none.
struct ShownEvidence {
  std::string measured, expected, detail;

  /// "235 violations in 4,838 cases, expected none; detail"
  std::string text() const;
};

/// Counts are shown with their number of cases, means with their interval. The detail then does not
/// repeat them.
ShownEvidence evidence_of(const nlohmann::json& claim);

/// "> 0", "≤ 0.5", "0.9 to 1.1", "0", "any": a number, or a region that may be unbounded on one
/// side or both; empty for null.
std::string html_expected(const nlohmann::json& value);

}  // namespace ranklab
