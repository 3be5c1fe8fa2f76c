#include "core/statistics.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "binomial.hpp"
#include "core/random.hpp"
#include "core/tolerances.hpp"
#include "core/undefined.hpp"

namespace statistics_test {

using namespace ranklab;

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();

doctest::Approx close(double expected) {
  return doctest::Approx(expected).scale(0).epsilon(tolerance::closed_form<double>);
}

// Of a bisection.
doctest::Approx nearly(double expected) {
  return doctest::Approx(expected).epsilon(1e-9);
}
}  // namespace

TEST_CASE("summary of 1, ..., n: mean (n + 1) / 2, variance n (n + 1) / 12") {
  for (const int n : {2, 3, 10, 1001}) {
    std::vector<double> values;
    for (int i = 1; i <= n; ++i) values.push_back(i);
    const Summary summary = summarize(values);
    CHECK(summary.n == values.size());
    CHECK(summary.mean == close((n + 1) / 2.0));
    CHECK(summary.std == close(std::sqrt(n * (n + 1) / 12.0)));
  }
}

TEST_CASE("a count of any floating-point number is between 0 and 2^53") {
  CHECK(whole_count(7.9) == 7);
  CHECK(whole_count(-1e300) == 0);
  CHECK(whole_count(std::numeric_limits<double>::quiet_NaN()) == 0);
  CHECK(whole_count(1e300) == std::size_t{1} << 53);
  CHECK(whole_count(std::numeric_limits<double>::infinity()) == std::size_t{1} << 53);
}

TEST_CASE("the summary ignores values that are not finite") {
  const Summary summary = summarize(std::vector<double>{undefined, 3.0, infinity, 5.0, -infinity});
  CHECK(summary.n == 2);
  CHECK(summary.mean == close(4.0));
  CHECK(summary.std == close(std::sqrt(2.0)));
}

TEST_CASE("the summary of a single value and of no values") {
  const Summary one = summarize(std::vector<double>{7.0});
  CHECK(one.n == 1);
  CHECK(one.mean == 7.0);
  CHECK(one.std == 0.0);
  for (const std::vector<double>& nothing :
       {std::vector<double>{}, std::vector<double>{undefined, infinity}}) {
    const Summary none = summarize(nothing);
    CHECK(none.n == 0);
    CHECK(std::isnan(none.mean));
    CHECK(std::isnan(none.std));
  }
}

TEST_CASE("the summary of equal values has zero spread") {
  for (const double value : {0.0, 0.1, -1e300}) {
    const Summary summary = summarize(std::vector<double>(7, value));
    CHECK(summary.mean == value);
    CHECK(summary.std == 0.0);
  }
}

TEST_CASE("a large offset does not lose the digits of the spread") {
  // 2^30 + {-1, 0, 1}: the textbook formula sum x^2 - n mean^2 would lose every digit.
  const double offset = 0x1p30;
  const Summary summary = summarize(std::vector<double>{offset - 1, offset, offset + 1});
  CHECK(summary.mean == offset);
  CHECK(summary.std == close(1.0));
}

TEST_CASE("the summary neither overflows nor underflows") {
  for (const double scale : {1e-200, 1e200, 0x1p1023, 0x1p-1000}) {
    const Summary summary = summarize(std::vector<double>{-scale, 0.0, scale});
    CHECK(summary.mean == 0.0);
    CHECK(summary.std == close(scale));
  }
  CHECK(summarize(std::vector<double>{1.5e308, 1.5e308}).mean == close(1.5e308));
}

TEST_CASE("the confidence interval is Student's at 99 % and agrees with tables") {
  const auto table = [](double value) { return doctest::Approx(value).epsilon(2e-5); };
  CHECK(standard_error({.mean = 1.0, .std = 2.0, .n = 16}) == close(0.5));
  CHECK(confidence_half_width({.mean = 1.0, .std = 2.0, .n = 16}) == table(2.9467 * 0.5));
  CHECK(confidence_half_width({.mean = 1.0, .std = std::sqrt(2.0), .n = 2}) == table(63.657));
  CHECK(confidence_half_width({.mean = 1.0, .std = 1000.0, .n = 1'000'000}) == table(2.5758));
}

TEST_CASE("the confidence half width is infinite if the spread is unknown") {
  CHECK(confidence_half_width(summarize(std::vector<double>{7.0})) == infinity);
  CHECK(standard_error(summarize(std::vector<double>{7.0})) == infinity);
  CHECK(confidence_half_width(summarize(std::vector<double>{})) == infinity);
}

TEST_CASE("Student's quantile agrees with tables") {
  // Upper percentage points as printed in tables, with one more digit if available.
  struct Row {
    double degrees, tail, t;
  };
  for (const Row& row : std::vector<Row>{{1, 0.025, 12.7062047},
                                         {1, 0.0005, 636.619249},
                                         {2, 0.025, 4.30265273},
                                         {3, 0.05, 2.35336343},
                                         {5, 0.005, 4.03214298},
                                         {7, 0.1, 1.41492393},
                                         {10, 0.025, 2.22813885},
                                         {30, 0.025, 2.04227246},
                                         {120, 0.025, 1.97993041}}) {
    CAPTURE(row.degrees);
    CHECK(student_quantile(row.tail, row.degrees) ==
          doctest::Approx(row.t).scale(0).epsilon(tolerance::quantile));
  }
}

TEST_CASE(
    "Student's quantile has closed forms for 1, 2 and 4 degrees of freedom, down to tiny tails") {
  const auto equals = [](double expected) {
    return doctest::Approx(expected).scale(0).epsilon(tolerance::quantile);
  };
  for (const double tail : {0.4999, 0.4, 0.1, 1e-3, 1e-6, 1e-9, 1e-12}) {
    CAPTURE(tail);
    const double alpha = 4 * tail * (1 - tail);
    CHECK(student_quantile(tail, 1) == equals(1 / std::tan(std::acos(-1.0) * tail)));
    CHECK(student_quantile(tail, 2) == equals((1 - 2 * tail) * std::sqrt(2 / alpha)));
    // The root of a cubic in 1 / (1 + t^2 / 4).
    const double q = std::cos(std::acos(std::sqrt(alpha)) / 3) / std::sqrt(alpha);
    if (tail < 0.45) CHECK(student_quantile(tail, 4) == equals(2 * std::sqrt(q - 1)));
  }
  CHECK(student_quantile(0.5, 3) == 0.0);
}

TEST_CASE("Student's quantile tends to the normal one: z + (z^3 + z) / 4n + ...") {
  const double z = 1.959963984540054;  // of the normal distribution at 0.025
  const double n = 1e6;
  CHECK(student_quantile(0.025, n) ==
        doctest::Approx(z + (z * z * z + z) / (4 * n)).scale(0).epsilon(tolerance::quantile));
}

TEST_CASE("Spearman's rank correlation, with ties and with too few pairs") {
  using Values = std::vector<double>;
  // 1 - 6 sum d^2 / (n (n^2 - 1)) without ties: 1 - 6 * 4 / 60.
  CHECK(std::fabs(rank_correlation(Values{1, 20, 300, 4000}, Values{2, 1, 4, 3}) - 0.6) <= 1e-15);
  CHECK(std::fabs(rank_correlation(Values{1, 2, 3}, Values{9, 5, -1}) + 1) <= 1e-15);
  // Ranks 0.5, 0.5, 2 and 0, 1, 2: covariance 0.75, deviations sqrt(0.75) and 1.
  CHECK(std::fabs(rank_correlation(Values{4, 4, 7}, Values{1, 2, 3}) - std::sqrt(0.75)) <= 1e-15);
  // Ranks 0, 1.5, 1.5, 3 and 0, 2, 1, 3: covariance 4.5/3, squared deviations 4.5/3 and 5/3.
  CHECK(std::fabs(rank_correlation(Values{1, 2, 2, 3}, Values{1, 3, 2, 4}) -
                  4.5 / std::sqrt(4.5 * 5)) <= 1e-15);
  CHECK(std::isnan(rank_correlation(Values{1, 2}, Values{1, 2})));
  CHECK(std::isnan(rank_correlation(Values{1, 1, 1}, Values{1, 2, 3})));
}

TEST_CASE("differences are taken entry by entry, and an undefined entry stays undefined") {
  const std::vector<double> found =
      differences(std::vector<double>{3, 1, undefined}, std::vector<double>{1, 4, 2});
  REQUIRE(found.size() == 3);
  CHECK(found[0] == 2);
  CHECK(found[1] == -3);
  CHECK(std::isnan(found[2]));
}

TEST_CASE("the median of odd and even numbers of values, in any order") {
  CHECK(median(std::vector<double>{5.0, 1.0, 3.0}) == 3.0);
  CHECK(median(std::vector<double>{4.0, 1.0, 8.0, 2.0}) == 3.0);
  CHECK(median(std::vector<double>{1.0, 3.0, 2.0, 9.0, 7.0, 8.0, 5.0, 4.0}) == 4.5);
  std::vector<double> shuffled;
  for (int i = 0; i < 100; ++i) shuffled.push_back(37 * i % 100);
  CHECK(median(shuffled) == 49.5);
  CHECK(median(std::vector<double>{9.0}) == 9.0);
  CHECK(median(std::vector<double>{undefined, 2.0, infinity, 4.0}) == 3.0);
  CHECK(median(std::vector<double>{1.5e308, 1.5e308}) == 1.5e308);
  CHECK(std::isnan(median(std::vector<double>{undefined})));
  CHECK(std::isnan(median(std::vector<double>{})));
}

TEST_CASE("the spread of values is computed") {
  const Spread spread = spread_of(std::vector<double>{3, std::nan(""), 1, 2, 10, 4});
  CHECK(spread.count == 5);
  CHECK(spread.smallest == 1);
  CHECK(spread.median == 3);
  CHECK(spread.upper_tenth == 10);
  CHECK(spread.largest == 10);
  CHECK(std::isnan(spread_of(std::vector<double>{}).median));
  std::vector<double> twenty(20);
  std::iota(twenty.begin(), twenty.end(), 1.0);
  CHECK(spread_of(twenty).upper_tenth == 19);  // two of twenty are as large
}

TEST_CASE("chi-squared tails equal their closed forms") {
  // 2 degrees of freedom: exp(-x/2); 4 degrees: (1 + x/2) exp(-x/2), with x = degrees (1 + excess).
  CHECK(log_chi_squared_tail(2.0, 1.5) == doctest::Approx(-2.5).epsilon(1e-12));
  CHECK(log_chi_squared_tail(4.0, 2.0) == doctest::Approx(std::log(7.0) - 6.0).epsilon(1e-12));
  // 400 degrees of freedom: Simpson's rule for the density.
  const double d = 400.0, excess = 0.3;
  double sum = 0.0;
  constexpr int steps = 20000;
  for (int i = 0; i <= steps; ++i) {
    const double x = d * (1.0 + excess) + 400.0 * i / steps;
    const double density =
        std::exp((d / 2.0 - 1.0) * std::log(x / 2.0) - x / 2.0 - std::lgamma(d / 2.0)) / 2.0;
    sum += (i == 0 || i == steps ? 1.0 : (i % 2 == 1 ? 4.0 : 2.0)) * density * 400.0 / steps / 3.0;
  }
  CHECK(log_chi_squared_tail(d, excess) == doctest::Approx(std::log(sum)).epsilon(1e-8));
}

TEST_CASE("binomial tails and intervals equal those by recursion and in closed form") {
  for (const double p : {0.03, 0.4, 0.9}) {
    for (const int x : {0, 1, 7, 24, 25}) {
      CHECK(std::exp(log_binomial_lower_tail(25, p, x)) == nearly(binomial_by_recursion(25, p, x)));
    }
  }
  CHECK(std::exp(log_binomial_lower_tail(25, 0.4, 6.9)) ==
        nearly(binomial_by_recursion(25, 0.4, 6)));
  CHECK(log_binomial_lower_tail(25, 0.4, -1.0) == -std::numeric_limits<double>::infinity());

  const BinomialInterval none = binomial_interval(0, 50);
  CHECK(none.low == 0.0);
  CHECK(none.high == nearly(1.0 - std::pow(0.005, 1.0 / 50)));
  CHECK(binomial_interval(50, 50).low == nearly(std::pow(0.005, 1.0 / 50)));
  // 3 of 10: the ends solve P(X <= 3) = P(X >= 3) = 0.025.
  const BinomialInterval some = binomial_interval(3, 10, 0.95);
  CHECK(binomial_by_recursion(10, some.high, 3) == nearly(0.025));
  CHECK(1.0 - binomial_by_recursion(10, some.low, 2) == nearly(0.025));
}

TEST_CASE("the p-value of a share is twice the smaller tail") {
  CHECK(binomial_p_value(3, 10, 0.6) ==
        doctest::Approx(2 * binomial_by_recursion(10, 0.6, 3)).epsilon(1e-12));
  CHECK(binomial_p_value(8, 10, 0.6) ==
        doctest::Approx(2 * (1 - binomial_by_recursion(10, 0.6, 7))).epsilon(1e-12));
  CHECK(binomial_p_value(6, 10, 0.6) == 1.0);
  // At an end of the interval it is 1 - level.
  CHECK(binomial_p_value(3, 10, binomial_interval(3, 10).high) ==
        doctest::Approx(0.01).epsilon(1e-9));
  CHECK(binomial_p_value(3, 10, 0.0) == 0.0);
  CHECK(binomial_p_value(0, 10, 0.0) == 1.0);
  CHECK(binomial_p_value(10, 10, 1.0) == 1.0);
}

TEST_CASE("in simulations, binomial 99 % intervals miss the share in at most 1 % of the runs") {
  constexpr int runs = 20'000, draws = 12;
  std::vector<BinomialInterval> intervals;  // by the number of hits
  for (int hits = 0; hits <= draws; ++hits) intervals.push_back(binomial_interval(hits, draws));
  for (const double share : {0.02, 0.5, 0.9}) {
    int missed = 0;
    for (int run = 0; run < runs; ++run) {
      Stream stream(11, static_cast<std::uint32_t>(run), "share" + std::to_string(share));
      std::size_t hits = 0;
      for (int draw = 0; draw < draws; ++draw) hits += stream.uniform() < share ? 1 : 0;
      const BinomialInterval& interval = intervals[hits];
      missed += share < interval.low || share > interval.high ? 1 : 0;
    }
    CHECK(missed < 0.01 * runs + 5 * std::sqrt(0.01 * runs));
  }
}

}  // namespace statistics_test
