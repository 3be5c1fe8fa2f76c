#include "report/claims.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "core/tolerances.hpp"

namespace claims_test {

using namespace ranklab;

namespace {

const Statement said{"spectral/eq-1", "Section 1", "so it is"};

TrialRecord record_of(std::vector<double> y) {
  TrialRecord record;
  record.set("y", std::move(y));
  return record;
}

double y_at(const TrialRecord& record, std::size_t i) {
  return record.array("y").at(i);
}

}  // namespace

TEST_CASE("a mean is judged by Student's confidence interval") {
  // Mean 2, sample standard deviation 1, four trials: half width 5.8409 / sqrt(4) = 2.92, Student's quantile for 99 % from tables.
  const double a = std::sqrt(0.75);
  const std::vector<double> values = {2 - a, 2 + a, 2 - a, 2 + a};
  CHECK(judge_mean(said, values, {-1, 5}).verdict == Verdict::holds);
  CHECK(judge_mean(said, values, at_most(5)).verdict == Verdict::holds);
  CHECK(judge_mean(said, values, at_least(5)).verdict == Verdict::fails);
  CHECK(judge_mean(said, values, at_most(-1)).verdict == Verdict::fails);
  CHECK(judge_mean(said, values, within(2.0, 2.93)).verdict == Verdict::holds);
  CHECK(judge_mean(said, values, within(2.0, 2.91)).verdict == Verdict::not_applicable);
  CHECK(judge_mean(said, values, positive()).verdict == Verdict::not_applicable);
  CHECK(judge_mean(said, {2.0, 2.0}, positive()).verdict == Verdict::holds);
  const Claim undecided = judge_mean(said, values, {-0.8, 3.6});
  CHECK(undecided.verdict == Verdict::not_applicable);
  CHECK(undecided.detail == "undecided at 4 trials: mean 2 +- 2.92 (99 %)");
  CHECK(undecided.measured == doctest::Approx(2.0).epsilon(tolerance::closed_form<double>));
  CHECK(judge_mean(said, {1.0}, at_most(100)).detail == "undecided: 1 trial, no error bars");
  CHECK(judge_mean(said, {NAN}, {0, 1}, "why").detail == "no finite value; why");
  CHECK(judge_mean(said, {NAN}, {0, 1}).verdict == Verdict::not_applicable);
}

TEST_CASE("a statement for all is judged by its tally") {
  CHECK(judge_tally(said, {10, 0}).verdict == Verdict::holds);
  const Claim broken = judge_tally(said, {10, 1}, "largest 3");
  CHECK(broken.verdict == Verdict::fails);
  CHECK(broken.detail == "1 violation in 10 cases; largest 3");
  CHECK(broken.id == said.id);
  CHECK(broken.source == said.source);
  CHECK(broken.statement == said.text);
  CHECK(judge_tally(said, {}).verdict == Verdict::not_applicable);
}

TEST_CASE("a number without trials holds inside its region, and says nothing where it is undefined") {
  CHECK(judge_number(said, 2.0, within(2.0, 0.5)).verdict == Verdict::holds);
  CHECK(judge_number(said, 2.6, within(2.0, 0.5)).verdict == Verdict::fails);
  CHECK(judge_number(said, NAN, within(2.0, 0.5)).verdict == Verdict::not_applicable);
}

TEST_CASE("a number counts as lying in a region that it misses by rounding") {
  const auto verdict = [](double measured) { return judge_number(said, measured, at_least(2.0), "", 1e-10).verdict; };
  CHECK(verdict(2.0 * (1 - 1e-12)) == Verdict::holds);
  CHECK(verdict(2.0 * (1 - 1e-8)) == Verdict::fails);
  CHECK(judge_number(said, 2.0 * (1 - 1e-12), at_least(2.0)).verdict == Verdict::fails);
}

TEST_CASE("places give their statements the beginning of the id and the source") {
  const Place place{"spectral/thm-2/", "Theorem 2"};
  CHECK(place("a", "t").id == "spectral/thm-2/a");
  CHECK(place("a", "t").source == "Theorem 2");
  const Inequality counted = place.counted("b", "u", "violations.b");
  CHECK(counted.id == "spectral/thm-2/b");
  CHECK(counted.text == "u");
  CHECK(counted.scalar == "violations.b");
  const Misprint misprint = place.misprint("c", "wrong", "right");
  CHECK(misprint.as_printed.id == "spectral/thm-2/c/as-printed");
  CHECK(misprint.as_printed.text == "wrong");
  CHECK(misprint.corrected.id == "spectral/thm-2/c/corrected");
  CHECK(misprint.corrected.text == "right");
}

TEST_CASE("claims stand in order; a hypothesis that is not met silences what is made under it, and nothing after") {
  Claims claims;
  claims.never_violated(said, Tally{2, 0});
  {
    const auto relu = claims.only_where("the run is about gelu");
    claims.mean(said, {1, 1}, at_most(0));
    const auto met = claims.only_where("");
    claims.number(said, 1, at_most(2));
  }
  {
    const auto met = claims.only_where("");
    claims.number(said, 1, at_most(2));
  }
  CHECK_FALSE(claims.applies(said, "n is too small"));
  CHECK(claims.applies(said, ""));
  {
    const auto few = claims.only_where("u is above 1", Claims::Unmet::reason_and_measured);
    claims.never_violated(said, Tally{2, 1}, "largest 3");
  }
  {
    const auto shown = claims.only_where("P is not symmetric", Claims::Unmet::verdict_alone);
    claims.number(said, 3, at_most(2), "the largest");
  }
  const std::vector<Claim> made = claims.take();
  REQUIRE(made.size() == 7);
  CHECK(made[0].verdict == Verdict::holds);
  for (const std::size_t silenced : {1, 2}) {
    CHECK(made[silenced].verdict == Verdict::not_applicable);
    CHECK(made[silenced].detail == "the run is about gelu");
    CHECK(std::isnan(made[silenced].measured));
  }
  CHECK(made[3].verdict == Verdict::holds);
  CHECK(made[4].detail == "n is too small");
  CHECK(made[5].verdict == Verdict::not_applicable);
  CHECK(made[5].detail == "u is above 1; measured: 1 violation in 2 cases; largest 3");
  CHECK(made[6].verdict == Verdict::not_applicable);
  CHECK(made[6].detail == "P is not symmetric; compared all the same: the largest");
  CHECK(made[6].measured == 3);
  CHECK(std::get<std::pair<double, double>>(made[6].expected).second == 2);
}

TEST_CASE("fits over sizes: the exponent of a power law, without what is undefined, and NaN where too little is left") {
  // y = 3 x^2; the second record lacks a point, the third two.
  const std::vector<double> x = {1, 2, 4, 8};
  const Records records = {record_of({3, 12, 48, 192}), record_of({3, NAN, 48, 192}), record_of({3, 0, -48, 192})};
  const std::vector<double> exponents = slopes_over(records, x, y_at, fit_power);
  CHECK(exponents[0] == doctest::Approx(2.0).epsilon(tolerance::closed_form<double>));
  CHECK(exponents[1] == doctest::Approx(2.0).epsilon(tolerance::closed_form<double>));
  CHECK(std::isnan(exponents[2]));
  // For a line, zero and negative values count.
  CHECK(fits_over(records, x, y_at, fit_line)[2].points == 4);
  CHECK(std::isnan(slopes_over(records, {2, 2, 2, 2}, y_at, fit_line)[0]));
}

}  // namespace claims_test
