// What a claim measured, what it expects, and the rest of its detail, as people write them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace ranklab {

/// HTML. `measured` and `expected` are empty where the claim gives none.
struct ShownEvidence {
  std::string measured, expected, detail;

  /// "235 of 4,838 cases, expected none; detail"
  std::string text() const;
};

/// Counts get their denominator, means their interval, both out of the detail, which then no longer repeats them.
ShownEvidence evidence_of(const nlohmann::json& claim);

/// "> 0", "at most 0.5", "0.9 to 1.1", "0", "none" (of counted violations): a number, a region of which an end may be open, or
/// nothing at all.
std::string html_expected(const nlohmann::json& value);

}  // namespace ranklab
