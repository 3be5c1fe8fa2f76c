// The window search agrees with a scan of every iteration.
#include "experiments/spike_plus_bulk/window.hpp"

#include <doctest/doctest.h>

#include <armadillo>
#include <cmath>

#include "ensembles/random_features.hpp"
#include "ensembles/spiked_gram.hpp"

namespace window_test {

using namespace ranklab;

namespace {

// G_t = diag(size_i factor_i^t), whose singular values, norms and ranks need no decomposition.
struct Diagonal {
  std::vector<double> size, factor;

  void add(int count, double a, double f) {
    for (int i = 0; i < count; ++i) {
      size.push_back(a);
      factor.push_back(f);
    }
  }
  double sum(double t, double power) const {
    double total = 0;
    for (std::size_t i = 0; i < size.size(); ++i) {
      total += std::pow(size[i] * (t == 0 ? 1.0 : std::pow(std::abs(factor[i]), t)), power);
    }
    return total;
  }
  double rank(std::uint64_t t) const {
    const double s = sum(static_cast<double>(t), 1);
    return s * s / sum(static_cast<double>(t), 2);
  }
  RankPath path() const {
    return {[this](std::uint64_t t) { return rank(t); },
            [this](double t) { return std::log(sum(t, 2)) / 2; }};
  }
};

// The rank is 1, then 10, 3, 20 and 1: two windows above 5.
Diagonal two_windows() {
  Diagonal path;
  path.add(1, 1e3, 0.5);
  path.add(10, 1.0, 0.9);
  path.add(2, 1e-2, 0.97);
  path.add(20, 1e-6, 0.995);
  path.add(1, 1e-9, 0.9999);
  return path;
}

struct Scan {
  std::optional<std::uint64_t> first_at_least, first_below;
};

Scan scan(const std::vector<double>& ranks, double threshold, std::uint64_t from) {
  Scan out;
  for (std::uint64_t t = from; t < ranks.size(); ++t) {
    if (!out.first_at_least && ranks[t] >= threshold) out.first_at_least = t;
    if (!out.first_below && ranks[t] < threshold) out.first_below = t;
  }
  return out;
}

void check_against_scan(const RankPath& path, const std::vector<double>& ranks,
                        const std::vector<double>& thresholds) {
  const std::uint64_t last = ranks.size() - 1;
  for (const double threshold : thresholds) {
    for (const std::uint64_t from : {std::uint64_t{0}, last / 9, last / 3}) {
      CAPTURE(threshold);
      CAPTURE(from);
      const Scan expected = scan(ranks, threshold, from);
      CHECK(WindowSearch(path).first_at_least(threshold, {from, last}) == expected.first_at_least);
      CHECK(WindowSearch(path).first_below(threshold, {from, last}) == expected.first_below);
      // Known values are passed in too, both useful ones and ones outside the span.
      WindowSearch prepared(path);
      for (std::uint64_t t = 0; t <= last; t += 1 + t / 2) prepared.nuclear_rank(t);
      CHECK(prepared.first_below(threshold, {from, last}) == expected.first_below);
      CHECK(prepared.first_at_least(threshold, {from, last}) == expected.first_at_least);
    }
  }
}

}  // namespace

TEST_CASE("first passages equal those of a scan, for a path that rises and falls twice") {
  const Diagonal diagonal = two_windows();
  std::vector<double> ranks;
  for (std::uint64_t t = 0; t <= 6000; ++t) ranks.push_back(diagonal.rank(t));
  check_against_scan(diagonal.path(), ranks, {0.5, 1.001, 2.0, 3.5, 5.0, 9.0, 9.9, 15.0, 25.0});

  WindowSearch search(diagonal.path());
  const auto start = search.first_at_least(5.0, {0, 6000});
  const auto end = search.first_below(5.0, {*start, 6000});
  const auto second = search.first_at_least(5.0, {*end, 6000});
  const auto second_end = search.first_below(5.0, {*second, 6000});
  CHECK(*start < *end);
  CHECK(*end < *second);
  CHECK(*second < *second_end);
  CHECK(search.evaluations() < 150);  // a scan would need 6001
}

TEST_CASE("a narrow peak between two known points below the level is found") {
  // Two spikes decay at different speeds: the rank is 2 for a few iterations around 40, and near 1
  // before and after.
  Diagonal path;
  path.add(1, 1e8, 0.5);
  path.add(1, 1.0, 0.9);
  path.add(1, 1e-9, 1.0);
  std::vector<double> ranks;
  for (std::uint64_t t = 0; t <= 4000; ++t) ranks.push_back(path.rank(t));
  check_against_scan(path.path(), ranks, {1.5, 1.9, 1.99});
}

TEST_CASE("a narrow dip between two known points above the level is found") {
  // Three directions, then one, then four: the dip from 100 to 280 is narrow compared to the span,
  // and both ends of the span are above the level.
  Diagonal path;
  path.add(3, 1.0, 0.8);
  path.add(1, 1e-6, 0.92);
  path.add(4, 1e-16, 0.9999);
  for (const Span span : {Span{10, 3000}, Span{3, 1700}, Span{20, 333}}) {
    std::vector<double> ranks;
    for (std::uint64_t t = 0; t <= span.to; ++t) ranks.push_back(path.rank(t));
    for (const double threshold : {1.05, 1.3, 2.0, 2.5}) {
      CAPTURE(span.to);
      CAPTURE(threshold);
      const auto expected = scan(ranks, threshold, span.from).first_below;
      REQUIRE(ranks[span.from] >= threshold);
      REQUIRE(ranks[span.to] >= threshold);
      REQUIRE(expected.has_value());
      WindowSearch fresh(path.path()), prepared(path.path());
      CHECK(fresh.first_below(threshold, span) == expected);
      for (const std::uint64_t t : {0u, 2u, 3500u, 5000u}) prepared.nuclear_rank(t);
      CHECK(prepared.first_below(threshold, span) == expected);
    }
    CHECK(!WindowSearch(path.path()).first_below(1.0 - 1e-6, span));
  }
}

TEST_CASE(
    "the first window equals that of a scan, even if a second one follows or powers of 2 skip its "
    "end") {
  const Diagonal diagonal = two_windows();
  std::vector<double> ranks;
  for (std::uint64_t t = 0; t <= 6000; ++t) ranks.push_back(diagonal.rank(t));
  for (const double level : {1.5, 3.5, 5.0, 9.0, 9.9, 15.0}) {
    CAPTURE(level);
    const auto above = [&](double nr) { return nr >= level; };
    const auto start = std::find_if(ranks.begin(), ranks.end(), above),
               end = std::find_if_not(start, ranks.end(), above);
    REQUIRE(end != ranks.end());
    const RankWindow window = first_window(diagonal.path(), level, 1 << 20);
    CHECK(window.start == static_cast<std::uint64_t>(start - ranks.begin()));
    CHECK(window.end == static_cast<std::uint64_t>(end - ranks.begin()));
  }
  // Three directions, then one from about 140 to 230, then four: at 128 and at 256 nr is above 2.
  Diagonal dip;
  dip.add(3, 1.0, 0.8527);
  dip.add(1, 1e-6, 0.9422);
  dip.add(4, 1e-12, 0.9999);
  for (std::uint64_t t = 1; t <= 4096; t *= 2) CHECK(dip.rank(t) > 2);
  const auto end = first_window(dip.path(), 2.0, 1 << 20).end;
  REQUIRE(end.has_value());
  CHECK(dip.rank(*end) < 2);
  for (std::uint64_t t = 0; t < *end; ++t) CHECK(dip.rank(t) >= 2);
}

TEST_CASE("windows that never open or never close, and gradients that vanish, are handled") {
  Diagonal equal;  // two directions decay at the same rate: nr stays 2
  equal.add(2, 1.0, 0.5);
  CHECK(!first_window(equal.path(), 2.5, 1 << 12).start);
  const RankWindow open = first_window(equal.path(), 1.5, 1 << 12);
  CHECK(open.start == 0);
  CHECK(!open.end);
  Diagonal alone;  // only one direction: nr is always 1
  alone.add(1, 1.0, 0.9);
  CHECK(first_window(alone.path(), 1.0, 1 << 12).start == 0);
  CHECK(!first_window(alone.path(), 1.0, 1 << 12).end);
  // The window closes when one direction has decayed as 0.999^t: nr = (1 + q)^2 / (1 + q^2).
  Diagonal slow;
  slow.add(1, 1.0, 1.0);
  slow.add(1, 1.0, 0.999);
  const auto end = first_window(slow.path(), 1.9, 1 << 12).end;
  REQUIRE(end.has_value());
  CHECK(slow.rank(*end) < 1.9);
  CHECK(slow.rank(*end - 1) >= 1.9);
  CHECK(!first_window(slow.path(), 1.9, *end - 1).end);
  Diagonal cleared;  // the gradient vanishes in the first step
  cleared.add(3, 1.0, 0.0);
  CHECK(first_window(cleared.path(), 2.0, 1 << 12).start == 0);
  CHECK(first_window(cleared.path(), 2.0, 1 << 12).end == 1);
  CHECK(!first_window(cleared.path(), 4.0, 1 << 12).start);
  Diagonal zero;
  zero.add(3, 0.0, 0.5);
  CHECK(!first_window(zero.path(), 0.5, 1 << 12).start);
}

TEST_CASE("the window is right for a path that loses a direction in its first step") {
  Diagonal path;
  path.add(1, 1e3, 0.0);
  path.add(8, 1.0, 0.99);
  path.add(1, 0.5, 0.999);
  std::vector<double> ranks;
  for (std::uint64_t t = 0; t <= 1500; ++t) ranks.push_back(path.rank(t));
  check_against_scan(path.path(), ranks, {1.5, 4.0, 8.2, 9.5});
}

TEST_CASE(
    "the search equals direct iteration for matrices without a shared basis, with factors of "
    "either sign") {
  const Streams trial(7, 0);
  const arma::uword d = 14;
  const arma::mat Q = draw_orthonormal(trial, "Q", d, d);
  arma::vec factor = arma::linspace(0.8, 0.99, d);
  factor(0) = -0.95;
  factor(1) = 0.1;
  const arma::mat D = Q * arma::diagmat(factor) * Q.t();
  arma::mat rotated = draw_gaussian<double>(trial, "G_0 Q", d, d, 1.0);
  rotated.col(1) *= 50;
  const arma::rowvec weight = arma::sum(arma::square(rotated), 0);

  std::vector<double> ranks;
  arma::mat G = rotated * Q.t();
  for (int t = 0; t <= 400; ++t) {
    const arma::vec s = arma::svd(G);
    ranks.push_back(std::pow(arma::accu(s), 2) / arma::dot(s, s));
    G = G * D;
  }
  const RankPath path{[&](std::uint64_t t) { return ranks[t]; },
                      [&](double t) {
                        double sum = 0;
                        for (arma::uword j = 0; j < d; ++j)
                          sum += weight(j) * std::pow(std::abs(factor(j)), 2 * t);
                        return std::log(sum) / 2;
                      }};
  check_against_scan(path, ranks, {1.2, 2.0, 3.0, 5.0, 8.0, 9.5});
}

TEST_CASE("the peak equals the largest value of a scan, within the tolerance") {
  const Diagonal diagonal = two_windows();
  for (const Span span : {Span{0, 300}, Span{0, 6000}, Span{50, 2000}}) {
    double largest = 0;
    for (std::uint64_t t = span.from; t <= span.to; ++t)
      largest = std::max(largest, diagonal.rank(t));
    WindowSearch search(diagonal.path());
    const auto peak = search.peak(span, 1e-4);
    CHECK(peak.nuclear_rank <= largest * (1 + 1e-9));
    CHECK(peak.nuclear_rank >= largest / (1 + 1.01e-4));
    CHECK(peak.nuclear_rank == doctest::Approx(diagonal.rank(peak.iteration)).epsilon(1e-9));
    CHECK(search.evaluations() < 100);
  }
}

}  // namespace window_test
