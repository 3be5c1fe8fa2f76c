// Statements about expectations, E X = c for every size: a mean over trials never equals c, so the
// claim counts estimates that are too far from it.
#pragma once

#include <string>

#include "core/tolerances.hpp"
#include "judge/claims.hpp"

namespace ranklab {

/// How far estimates are from their expectations, in standard errors. Many are compared, so more
/// standard errors are allowed than for one.
struct Distances {
  double allowed = tolerance::standard_errors;
  Tally tally = {};
  double width = 0;  // the largest standard error relative to the expectation

  /// Counts an estimate, unless its standard error or its expectation is not finite. `rounding` is
  /// relative to the expectation.
  void add(double estimate, double error, double expected, double rounding = 0);
  /// Judges that every estimate is within `allowed`. Without an estimate, the claim is not
  /// applicable, with the reason `unmet`.
  void judge(const Statement& statement, const std::string& unmet, const std::string& detail,
             Claims& claims) const;
};

}  // namespace ranklab
