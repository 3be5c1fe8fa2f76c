// Two results side by side: verdicts, scalars and series, their differences in standard errors.
//
// The means of a scalar or of a point of a series are a and b, over n_a and n_b trials with sample deviations s_a and s_b. Their
// difference has the standard error sqrt(s_a^2 / n_a + s_b^2 / n_b). It is told from chance by Student's quantile with
// min(n_a, n_b) - 1 degrees of freedom, at `comparison_level` divided by the number of comparisons made (Bonferroni), scalars and
// points of series each for themselves: of thousands of points some lie far apart by chance.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace ranklab {

/// The probability at which two runs of one config are told apart by chance: that of three standard errors of a normal law.
inline constexpr double comparison_level = 0.0027;

/// Relative difference of what has no spread over trials: the rounding of another BLAS kernel.
inline constexpr double rounding_tolerance = 1e-9;

/// The same of points of series: a trial, a median or an extreme of trials, in which a difference of nearly equal losses makes
/// rounding larger. Three times the most that four kernels made of it, 7e-7 in a median of Theorem 1.5; of all others 1e-9.
inline constexpr double point_tolerance = 2e-6;

/// Numbers below it are taken for zero: the remainders of identities, of which rounding alone is left.
inline constexpr double rounding_floor = 1e-9;

struct ComparedClaim {
  std::string id, a, b;  // verdicts; empty: the result does not have the claim
  bool differs() const { return a != b; }
};

struct ComparedScalar {
  std::string name;
  double a = 0, b = 0;         // means; NaN: undefined
  double standard_errors = 0;  // between them; infinite where they differ and there is no spread
  std::string missing;         // in which result; empty: in none
  bool differs = false;
};

struct ComparedSeries {
  std::string name;
  std::size_t points = 0, beyond = 0;  // points compared, and those that differ
  double farthest = 0, at = 0;         // the largest difference in standard errors, and its x
  std::string missing;                 // as above, or "other points"
  bool differs() const { return beyond > 0 || !missing.empty(); }
};

struct Comparison {
  bool same_bits = false;  // scalars, trial values, series and claims agree digit by digit
  std::uint64_t trials_a = 0, trials_b = 0;
  std::vector<ComparedClaim> claims;
  std::vector<ComparedScalar> scalars;
  std::vector<ComparedSeries> series;

  std::size_t differing_claims() const, differing_scalars() const, differing_series() const, points() const;
  /// One trial has no spread: only rounding is forgiven.
  bool no_error_bars() const { return trials_a < 2 || trials_b < 2; }
  bool agrees() const { return differing_claims() + differing_scalars() + differing_series() == 0; }
};

/// Compares all that either result has; what one lacks is "missing in <its name>".
Comparison compare_results(const nlohmann::json& a, const nlohmann::json& b, const std::string& name_a, const std::string& name_b);

}  // namespace ranklab
