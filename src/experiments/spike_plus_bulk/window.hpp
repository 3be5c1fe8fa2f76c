// When is the nuclear rank of the gradient large? First passages of t -> nr(G_t) along G_t = G_0
// D^t, found exactly without a singular value decomposition at every t.
//
// Let D be symmetric with |D| <= I. Then t -> log ||G_t||_* is convex and does not increase: signs
// of D only flip columns of G_t, and for D >= 0 the function z -> G_0 D^z is analytic with ||G_0
// D^(x+iy)||_* = ||G_0 D^x||_*, so Hadamard's three-lines theorem applies. Evaluations at some t
// therefore enclose the function everywhere: it is below the chord between two of them and above
// the continuation of the neighboring chords. log ||G_t||_F is known in closed form and is also
// convex. Since
//   log nr(G_t) / 2 = log ||G_t||_* - log ||G_t||_F,
// an interval whose enclosure stays on one side of a threshold needs no further evaluation; any
// other interval is halved.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/real.hpp"

namespace ranklab {

/// A path G_0, G_1, ... as described above.
struct RankPath {
  std::function<double(std::uint64_t)> nuclear_rank;  // nr(G_t): one singular value decomposition
  std::function<double(double)> log_frobenius;        // log ||G_t||_F for real t, with 0^0 = 1
};

/// Iterations from `from` up to and including `to`; from < to.
struct Span {
  std::uint64_t from, to;
};

class WindowSearch {
 public:
  explicit WindowSearch(RankPath path) : path_(std::move(path)) {}

  /// nr(G_t). Each value is evaluated once and kept, because it narrows later searches.
  double nuclear_rank(std::uint64_t t);
  /// ||G_t||_* in the unit of log_frobenius.
  double nuclear_norm(std::uint64_t t);

  /// The smallest t of the span with nr(G_t) >= threshold, or with nr(G_t) < threshold; nothing if
  /// there is no such t. All smaller t are evaluated or enclosed.
  std::optional<std::uint64_t> first_at_least(double threshold, Span span);
  std::optional<std::uint64_t> first_below(double threshold, Span span);

  struct Peak {
    std::uint64_t iteration;  // of the largest evaluated value
    double nuclear_rank;      // no value in the span exceeds it by more than the tolerance
  };
  /// The largest nr(G_t) of the span, up to a relative tolerance, which must be positive.
  Peak peak(Span span, double tolerance);

  std::size_t evaluations() const { return log_nuclear_.size(); }

 private:
  struct Bound {
    std::uint64_t at;
    double half_log;  // of nr
  };

  double log_nuclear(std::uint64_t t);
  double half_log_rank(std::uint64_t t);
  std::vector<std::uint64_t> known_in(Span span);
  std::optional<std::uint64_t> first_at_least_after(double half_log, std::uint64_t a,
                                                    std::uint64_t b);
  std::optional<std::uint64_t> first_below_after(double half_log, std::uint64_t a, std::uint64_t b);
  Bound upper_bound(std::uint64_t a, std::uint64_t b);
  bool stays_above(double half_log, std::uint64_t a, std::uint64_t b);

  RankPath path_;
  std::map<std::uint64_t, double> log_nuclear_;  // log ||G_t||_* by t
};

/// The first window of a large nuclear rank: the first t with nr(G_t) >= level, and the first later
/// t with nr(G_t) < level.
struct RankWindow {
  std::optional<std::uint64_t> start,
      end;  // nothing if no such t is found up to the longest search
};

/// The search goes over spans that double, 0 to 1 to 2 to 4 ..., so its cost depends on the length
/// of the window, and it never compares norms that differ by many orders of magnitude. A zero
/// gradient has no nuclear rank and counts as below the level.
RankWindow first_window(const RankPath& path, double level, std::uint64_t longest_search);

}  // namespace ranklab
