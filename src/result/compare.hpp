// Two results compared: verdicts, scalars, series and every other part, with differences of
// means in standard errors.
//
// The means of a scalar or of a point of a series are a and b, over n_a and n_b trials with sample
// deviations s_a and s_b. Their difference has the standard error sqrt(s_a^2 / n_a + s_b^2 / n_b).
// It counts as a difference if it exceeds Student's quantile with min(n_a, n_b) - 1 degrees of
// freedom at `comparison_level`, divided by the number of comparisons (Bonferroni): some of
// thousands of points are far apart by chance. Scalars and points of series are counted separately.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "result/result_file.hpp"

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

/// One item of two results, in words.
struct ComparedItem {
  enum class Kind { claim, scalar, series, part } kind = Kind::claim;
  std::string name;
  std::string a, b;        // what each result says; empty: it does not have the item
  std::string distance;    // of means: "1.3 standard errors"
  std::string difference;  // "differs", "missing in B", "another kind"; empty: none
};
/// "claim", "scalar", "series", "part".
const char* name_of(ComparedItem::Kind kind);

struct Comparison {
  std::string first_difference;  // where the results differ bit for bit; empty: nowhere
  std::uint64_t trials_a = 0, trials_b = 0;
  std::uint64_t points = 0;  // of series
  // Claims, scalars and series in the order of A, then what only B has; and the other parts
  // that differ by more than rounding, such as "title" and "figure". Numbers inside a sentence are
  // not compared.
  std::vector<ComparedItem> items;

  std::size_t count(ComparedItem::Kind kind) const;
  std::size_t differing(ComparedItem::Kind kind) const;
  bool same_bits() const { return first_difference.empty(); }
  /// A single trial has no spread; only differences of rounding size are allowed then.
  bool no_error_bars() const { return trials_a < 2 || trials_b < 2; }
  bool agrees() const;
};

/// Compares what two runs computed; an item that one result lacks is "missing in <its name>".
Comparison compare_results(const ResultFile& a, const ResultFile& b, const std::string& name_a,
                           const std::string& name_b);

/// The same for a result and a rerun of its config, which must also agree in every other part that
/// the program writes: the preset and its words, the numbers of trials, the table. Not compared:
/// the config itself, environment and timing.
Comparison compare_rerun(const ResultFile& earlier, const ResultFile& again,
                         const std::string& name_earlier, const std::string& name_again);

}  // namespace ranklab
