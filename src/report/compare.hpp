// Two results compared: verdicts, scalars and series, with their differences in standard errors.
//
// The means of a scalar or of a point of a series are a and b, over n_a and n_b trials with sample
// deviations s_a and s_b. Their difference has the standard error sqrt(s_a^2 / n_a + s_b^2 / n_b).
// It counts as a difference if it exceeds Student's quantile with min(n_a, n_b) - 1 degrees of
// freedom at `comparison_level`, divided by the number of comparisons (Bonferroni): some of
// thousands of points are far apart by chance. Scalars and points of series are counted separately.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace ranklab {

/// The probability that two runs of one config differ by chance: that of three standard errors of a
/// normal distribution.
inline constexpr double comparison_level = 0.0027;

/// Relative difference that is allowed for a value without spread over trials: the rounding of a
/// different BLAS kernel.
inline constexpr double rounding_tolerance = 1e-9;

/// The same for points of series. A point may be one trial, a median or an extreme, in which a
/// difference of nearly equal losses amplifies rounding. Five kernels differ by at most 4e-9 in a
/// single problem of Theorem 1.5 and by at most 1e-9 elsewhere; the rest is room for other kernels.
inline constexpr double point_tolerance = 2e-6;

/// Smaller numbers count as zero: residuals of identities, which consist of rounding only.
inline constexpr double rounding_floor = 1e-9;

struct ComparedClaim {
  std::string id, a, b;  // verdicts in words; empty: the result does not have the claim
  std::string field;     // another field that differs: "kind", "expected"; empty: none
  bool differs() const { return a != b || !field.empty(); }
};

/// The advice for a layer; empty: the result does not judge the layer.
struct ComparedAdvice {
  std::string layer, a, b;
  bool differs() const { return a != b; }
};

struct ComparedScalar {
  std::string name;
  double a = 0, b = 0;         // means; NaN: undefined
  double standard_errors = 0;  // between them; infinite if they differ without a spread
  std::string missing;         // the result that lacks it; empty: neither
  bool differs = false;
};

struct ComparedSeries {
  std::string name;
  std::size_t points = 0, beyond = 0;  // points compared, and those that differ
  double farthest = 0, at = 0;         // the largest difference in standard errors, and its x
  std::string missing;                 // as above, or "different points"
  bool differs() const { return beyond > 0 || !missing.empty(); }
};

struct Comparison {
  bool same_bits = false;  // everything that a run computes agrees digit by digit
  std::uint64_t trials_a = 0, trials_b = 0;
  std::vector<ComparedClaim> claims;
  std::vector<ComparedAdvice> advice;  // empty if a result has none, as results of earlier versions
  std::vector<ComparedScalar> scalars;
  std::vector<ComparedSeries> series;
  // Other parts that differ by more than rounding: "title", "figure", "notes". Numbers inside a
  // sentence are not compared.
  std::vector<std::string> parts;

  std::size_t differing_claims() const, differing_advice() const, differing_scalars() const,
      differing_series() const, points() const;
  /// A single trial has no spread; only differences of rounding size are allowed then.
  bool no_error_bars() const { return trials_a < 2 || trials_b < 2; }
  bool agrees() const {
    return differing_claims() + differing_advice() + differing_scalars() + differing_series() +
               parts.size() ==
           0;
  }
};

/// Compares everything in either result; an item that one result lacks is "missing in <its name>".
Comparison compare_results(const nlohmann::json& a, const nlohmann::json& b,
                           const std::string& name_a, const std::string& name_b);

}  // namespace ranklab
