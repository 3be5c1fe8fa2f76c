#include "judge/size_claims.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "core/tolerances.hpp"

namespace size_claims_test {

using namespace ranklab;

namespace {

const Statement statement{"spectral/eq-1", "spectral/eq-1/a", "Section 1", "a statement"};

// Two trials at the sizes 2, 4, 8: y = (trial + 1) x^2, undefined at the last size of the second
// trial.
constexpr Measure y = {"y"};
const std::vector<At> places = {{"k", 2, "k2"}, {"k", 4, "k4"}, {"k", 8, "k8"}};

Records squares(std::size_t trials = 2) {
  Records records(trials);
  for (std::size_t t = 0; t < trials; ++t) {
    for (const double x : {2.0, 4.0, 8.0}) {
      const bool undefined = t >= 1 && x == 8.0;
      records[t].set("k" + std::to_string(static_cast<int>(x)) + ".y",
                     undefined ? std::numeric_limits<double>::quiet_NaN()
                               : static_cast<double>(t + 1) * x * x);
    }
  }
  return records;
}

}  // namespace

TEST_CASE("a statement about every size has one case per trial and size with a defined margin") {
  const Records records = squares();
  Claims claims;
  const SizeClaims at_sizes{{{2, 4, 8}, places}, claims, records};
  at_sizes.everywhere(statement, y, "shown");
  at_sizes.everywhere(
      statement, [](const AtSize& at) { return at(y) - 5 * at.x; },
      "");  // 4, 16, 64; 8, 32 against 10, 20, 40
  CHECK(claims.list()[0].verdict == Verdict::holds);
  CHECK(claims.list()[0].detail == "shown");
  CHECK(claims.list()[1].verdict == Verdict::fails);
  CHECK(claims.list()[1].measured == 3);
  CHECK(at_sizes.range(y) == "4 to 64");
  CHECK(at_sizes.range(ratio([](const AtSize& at) { return at.x; }, y)) == "0.125 to 0.5");
  CHECK(at_sizes.range([](const AtSize& at) { return std::log(at.x - 8); }) == "undefined");
  const Tally last = at_sizes.tally([](const AtSize& at, Tally& t) {
    if (at.i == 2) t.count(at.record.has("k4.y"));
  });
  CHECK(last.cases == 2);
  CHECK(last.violations == 2);
}

TEST_CASE(
    "an exponent is the mean over trials, unless the run gives a reason against it or a trial has "
    "too few sizes") {
  const Records records = squares(3);
  Claims claims;
  SizeClaims at_sizes{{{2, 4, 8}, places}, claims, records};
  at_sizes.fewest = 2;
  at_sizes.fit_description = "fitted";
  at_sizes.slack = "0.1 in the exponent of d";
  at_sizes.exponent(statement, y, within(2, 0.1), "y");
  at_sizes.exponent(statement, y, at_most(1.9), "y");
  at_sizes.fewest = 3;  // only the first trial
  at_sizes.exponent(statement, y, within(2, 0.1), "y");
  at_sizes.no_exponents = "one size";
  at_sizes.exponent(statement, y, within(2, 0.1), "y");
  const std::vector<Claim>& made = claims.list();
  CHECK(made[0].verdict == Verdict::holds);
  CHECK(made[0].measured == doctest::Approx(2.0).epsilon(tolerance::closed_form<double>));
  CHECK(made[0].detail == "y; fitted");
  CHECK(made[0].kind == Kind::asymptotic);
  CHECK(made[0].threshold == "0.1 in the exponent of d");
  CHECK(made[1].verdict == Verdict::fails);
  CHECK(made[2].undecided);
  CHECK(made[2].detail.starts_with("at least 3 independent units are needed"));
  CHECK(made[3].verdict == Verdict::not_applicable);
  CHECK(made[3].detail == "one size");
}

}  // namespace size_claims_test
