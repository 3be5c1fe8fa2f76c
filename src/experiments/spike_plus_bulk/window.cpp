#include "experiments/spike_plus_bulk/window.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace ranklab {
namespace {

// Margin that an enclosure must keep from the threshold: a generous allowance for rounding in the
// decompositions.
constexpr double margin = 1e-9;

}  // namespace

double WindowSearch::log_nuclear(std::uint64_t t) {
  const auto found = log_nuclear_.find(t);
  if (found != log_nuclear_.end()) return found->second;
  const double value = path_.log_frobenius(real(t)) + std::log(path_.nuclear_rank(t)) / 2;
  return log_nuclear_.emplace(t, value).first->second;
}

double WindowSearch::half_log_rank(std::uint64_t t) {
  return log_nuclear(t) - path_.log_frobenius(real(t));
}

double WindowSearch::nuclear_rank(std::uint64_t t) {
  return std::exp(2 * half_log_rank(t));
}

double WindowSearch::nuclear_norm(std::uint64_t t) {
  return std::exp(log_nuclear(t));
}

std::vector<std::uint64_t> WindowSearch::known_in(Span span) {
  log_nuclear(span.from);
  log_nuclear(span.to);
  std::vector<std::uint64_t> known;
  for (auto point = log_nuclear_.find(span.from); point->first < span.to; ++point)
    known.push_back(point->first);
  known.push_back(span.to);
  return known;
}

// The largest value of chord - log ||G||_F over the integers from a to b. The function is concave,
// so its differences decrease.
WindowSearch::Bound WindowSearch::upper_bound(std::uint64_t a, std::uint64_t b) {
  const double start = log_nuclear(a), slope = (log_nuclear(b) - start) / real(b - a);
  const auto value = [&](std::uint64_t t) {
    return start + slope * real(t - a) - path_.log_frobenius(real(t));
  };
  std::uint64_t low = a, high = b;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (value(middle + 1) > value(middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return {low, value(low)};
}

// Whether log ||G||_* - log ||G||_F stays above half_log between a and b, given that it is above at
// both ends. Two lines bound log ||G||_* from below. A line minus a convex function is concave, so
// its minimum is at an end. Therefore only the point where the two lines meet needs a check.
bool WindowSearch::stays_above(double half_log, std::uint64_t a, std::uint64_t b) {
  const auto at = log_nuclear_.find(a), end = log_nuclear_.find(b), next = std::next(end);
  const double right_slope =
      next == log_nuclear_.end() ? 0.0 : (next->second - end->second) / real(next->first - b);
  const auto right = [&](double t) { return end->second + right_slope * (t - real(b)); };
  if (at == log_nuclear_.begin())
    return right(real(a)) - path_.log_frobenius(real(a)) > half_log + margin;

  const auto previous = std::prev(at);
  const double left_slope = (at->second - previous->second) / real(a - previous->first);
  const auto left = [&](double t) { return at->second + left_slope * (t - real(a)); };
  // The slopes of successive chords increase. If rounding hides that, the path is straight and any
  // point will do.
  const double gap = right_slope - left_slope;
  const double meeting = gap > 0 ? real(a) + (left(real(a)) - right(real(a))) / gap : real(a);
  const double t = std::clamp(meeting, real(a), real(b));
  return std::min(left(t), right(t)) - path_.log_frobenius(t) > half_log + margin;
}

std::optional<std::uint64_t> WindowSearch::first_at_least_after(double half_log, std::uint64_t a,
                                                                std::uint64_t b) {
  const auto end = half_log_rank(b) >= half_log ? std::optional(b) : std::nullopt;
  if (b - a == 1 || upper_bound(a, b).half_log < half_log - margin) return end;
  const std::uint64_t middle = a + (b - a) / 2;
  if (const auto found = first_at_least_after(half_log, a, middle)) return found;
  return first_at_least_after(half_log, middle, b);
}

std::optional<std::uint64_t> WindowSearch::first_below_after(double half_log, std::uint64_t a,
                                                             std::uint64_t b) {
  const auto end = half_log_rank(b) < half_log ? std::optional(b) : std::nullopt;
  if (b - a == 1 || (!end && stays_above(half_log, a, b))) return end;
  const std::uint64_t middle = a + (b - a) / 2;
  if (const auto found = first_below_after(half_log, a, middle)) return found;
  return first_below_after(half_log, middle, b);
}

std::optional<std::uint64_t> WindowSearch::first_at_least(double threshold, Span span) {
  const double half_log = std::log(threshold) / 2;
  if (half_log_rank(span.from) >= half_log) return span.from;
  const auto known = known_in(span);
  for (std::size_t i = 0; i + 1 < known.size(); ++i) {
    if (const auto found = first_at_least_after(half_log, known[i], known[i + 1])) return found;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> WindowSearch::first_below(double threshold, Span span) {
  const double half_log = std::log(threshold) / 2;
  if (half_log_rank(span.from) < half_log) return span.from;
  const auto known = known_in(span);
  for (std::size_t i = 0; i + 1 < known.size(); ++i) {
    if (const auto found = first_below_after(half_log, known[i], known[i + 1])) return found;
  }
  return std::nullopt;
}

WindowSearch::Peak WindowSearch::peak(Span span, double tolerance) {
  struct Piece {
    std::uint64_t a, b;
    Bound bound;
  };
  std::vector<Piece> pieces;
  const auto add = [&](std::uint64_t a, std::uint64_t b) {
    if (b - a > 1) pieces.push_back({a, b, upper_bound(a, b)});
  };
  const auto known = known_in(span);
  std::uint64_t best = span.from;
  const auto consider = [&](std::uint64_t t) {
    if (half_log_rank(t) > half_log_rank(best)) best = t;
  };
  for (std::size_t i = 0; i < known.size(); ++i) {
    consider(known[i]);
    if (i > 0) add(known[i - 1], known[i]);
  }
  while (!pieces.empty()) {
    const auto largest = std::max_element(
        pieces.begin(), pieces.end(),
        [](const Piece& x, const Piece& y) { return x.bound.half_log < y.bound.half_log; });
    if (largest->bound.half_log <= half_log_rank(best) + std::log1p(tolerance) / 2) break;
    const Piece piece = *largest;
    pieces.erase(largest);
    const std::uint64_t middle = std::clamp(piece.bound.at, piece.a + 1, piece.b - 1);
    consider(middle);
    add(piece.a, middle);
    add(middle, piece.b);
  }
  return {best, nuclear_rank(best)};
}

RankWindow first_window(const RankPath& path, double level, std::uint64_t longest_search) {
  constexpr double log_zero =
      -std::numeric_limits<double>::infinity();  // log ||G|| of a zero gradient
  if (path.log_frobenius(0.0) == log_zero) return {};
  WindowSearch search(path);
  const auto passage = [&](std::optional<std::uint64_t> (WindowSearch::*first)(double, Span),
                           std::uint64_t from) {
    std::optional<std::uint64_t> found;
    for (Span span{from, from + 1}; !found && span.from < longest_search;
         span = {span.to, 2 * span.to}) {
      found = (search.*first)(level, {span.from, std::min(span.to, longest_search)});
    }
    return found;
  };
  if (path.log_frobenius(1.0) == log_zero) {  // only the first step can remove a direction entirely
    if (search.nuclear_rank(0) >= level) return {0, 1};
    return {};
  }
  RankWindow window;
  window.start = passage(&WindowSearch::first_at_least, 0);
  // A nuclear rank is at least 1, up to rounding.
  if (window.start && level > 1) window.end = passage(&WindowSearch::first_below, *window.start);
  return window;
}

}  // namespace ranklab
