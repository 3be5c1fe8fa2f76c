#include "report/result.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace ranklab;

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
}

TEST_CASE("a series stops at the shortest trial and averages the defined values") {
  const Series series = series_over_trials("s", "t", {{1, 2, 3}, {3, 4}}, 5.0);
  CHECK(series.x == std::vector<double>{5, 6});
  CHECK(series.mean == std::vector<double>{2, 3});
  CHECK(series.std[0] == doctest::Approx(std::sqrt(2.0)).epsilon(1e-15));
  const Series with_gap = series_over_trials("s", "t", {{1, NAN}, {3, NAN}, {5, 7}});
  CHECK(with_gap.mean[0] == 3);
  CHECK(with_gap.mean[1] == 7);
  CHECK(with_gap.std[1] == 0);
}

TEST_CASE("a mean is judged by its confidence interval at z = 3") {
  // Mean 2, sample standard deviation 1, four trials: half width 3 / sqrt(4) = 1.5 to rounding.
  const double a = std::sqrt(0.75);
  const std::vector<double> values = {2 - a, 2 + a, 2 - a, 2 + a};
  CHECK(judge_mean("x", "", "", values, 0.4, 3.6).verdict == Verdict::holds);
  CHECK(judge_mean("x", "", "", values, -infinity, 3.6).verdict == Verdict::holds);
  CHECK(judge_mean("x", "", "", values, 3.6, infinity).verdict == Verdict::fails);
  CHECK(judge_mean("x", "", "", values, -infinity, 0.4).verdict == Verdict::fails);
  const Claim undecided = judge_mean("x", "", "", values, 0.6, 3.6);
  CHECK(undecided.verdict == Verdict::not_applicable);
  CHECK(undecided.detail.find("undecided at 4 trials") == 0);
  CHECK(undecided.measured == doctest::Approx(2.0).epsilon(1e-15));
  CHECK(judge_mean("x", "", "", {1.0}, -infinity, 100).detail == "undecided at 1 trial");
  CHECK(judge_mean("x", "", "", {NAN}, 0, 1).verdict == Verdict::not_applicable);
}

TEST_CASE("a claim for all is a count of violations") {
  CHECK(judge_violations("x", "", "", 0, 10).verdict == Verdict::holds);
  CHECK(judge_violations("x", "", "", 1, 10).verdict == Verdict::fails);
  CHECK(judge_violations("x", "", "", 1, 10).detail == "1 violations in 10 cases");
  CHECK(judge_violations("x", "", "", 0, 0).verdict == Verdict::not_applicable);
}
