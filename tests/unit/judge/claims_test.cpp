#include "judge/claims.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>

#include "core/random.hpp"
#include "core/tolerances.hpp"

namespace claims_test {

using namespace ranklab;

namespace {

const Statement statement{"spectral/eq-1", "spectral/eq-1/a", "Section 1", "a statement"};
const Statement sampled = asymptotic(statement, "our slack");

TrialRecord record_of(std::vector<double> y) {
  TrialRecord record;
  record.set("y", std::move(y));
  return record;
}

double y_at(const TrialRecord& record, std::size_t i) {
  return record.array("y").at(i);
}

}  // namespace

TEST_CASE("no mean over trials judges a statement that covers every finite case") {
  Claims claims;
  CHECK_THROWS_AS(claims.mean(statement, {1, 2, 3}, at_least(0)), std::logic_error);
  CHECK_THROWS_AS(claims.share(statement, 3, 3, at_least(0.1)), std::logic_error);
  CHECK_THROWS_AS(claims.interval(statement, {0.5, 0.4, 0.6, 0.99, 9}, at_least(0)),
                  std::logic_error);
  CHECK_THROWS_AS(claims.equivalent(statement, {0, 0.1, 0.2}, 1), std::logic_error);
  CHECK_THROWS_AS(claims.no_worse(statement, {0, 0.1, 0.2}, 1), std::logic_error);
  CHECK_NOTHROW(claims.mean(sampled, {1, 2, 3}, at_least(0)));
}

TEST_CASE("a mean is judged by Student's confidence interval") {
  // Mean 2, sample standard deviation 1, four trials: half width 5.8409 / sqrt(4) = 2.92 with
  // Student's quantile for 99 % from tables.
  const double a = std::sqrt(0.75);
  const std::vector<double> values = {2 - a, 2 + a, 2 - a, 2 + a};
  CHECK(judge_mean(statement, values, {-1, 5}).verdict == Verdict::holds);
  CHECK(judge_mean(statement, values, at_most(5)).verdict == Verdict::holds);
  CHECK(judge_mean(statement, values, at_least(5)).verdict == Verdict::fails);
  CHECK(judge_mean(statement, values, at_most(-1)).verdict == Verdict::fails);
  CHECK(judge_mean(statement, values, within(2.0, 2.93)).verdict == Verdict::holds);
  CHECK(judge_mean(statement, values, within(2.0, 2.91)).verdict == Verdict::not_applicable);
  CHECK(judge_mean(statement, values, positive()).verdict == Verdict::not_applicable);
  CHECK(judge_mean(statement, {2.0, 2.0, 2.0}, positive()).verdict == Verdict::holds);
  const Claim undecided = judge_mean(statement, values, {-0.8, 3.6});
  CHECK(undecided.verdict == Verdict::not_applicable);
  CHECK(undecided.undecided);
  CHECK(undecided.detail.empty());
  CHECK(evidence_text(undecided) == "mean 2 +- 2.92 (99 %, 4 seeds)");
  CHECK(undecided.measured == doctest::Approx(2.0).epsilon(tolerance::closed_form<double>));
  const Claim held = judge_mean(statement, values, {-1, 5}, "why");
  CHECK(held.detail == "why");  // the evidence is not repeated
  const auto evidence = std::get<MeanEvidence>(held.evidence);
  CHECK(evidence.high - evidence.low == doctest::Approx(5.8409).epsilon(1e-4));
  CHECK(evidence.level == 0.99);
  CHECK(evidence.n == 4);
  CHECK(judge_mean(statement, {NAN}, {0, 1}, "why").detail == "no finite value; why");
  CHECK(evidence_text(judge_mean(statement, {NAN}, {0, 1}, "why")).empty());
  CHECK(judge_mean(statement, {NAN}, {0, 1}).verdict == Verdict::not_applicable);
}

TEST_CASE("a tie in a comparison never holds, and the detail says that it is a tie") {
  const std::vector<double> zeros = {0, 0, -0.0, NAN}, ones = {1, 1, 1};
  for (const Region region : {compared(at_most(0)), compared(at_least(0))}) {
    const Claim tie = judge_mean(statement, zeros, region, "why");
    CHECK(tie.verdict == Verdict::not_applicable);
    CHECK(tie.undecided);
    CHECK(tie.detail == "a tie, all 3 differences are zero; why");
  }
  CHECK(judge_mean(statement, ones, compared(at_least(1))).detail == "a tie, all 3 values are 1");
  const Claim not_above = judge_mean(statement, zeros, positive());
  CHECK(not_above.verdict == Verdict::fails);
  CHECK(not_above.detail == "a tie, all 3 differences are zero");
  // No tie: a difference without spread, a spread around the edge, a bound that includes its edge.
  CHECK(judge_mean(statement, {-1e-300, -1e-300, -1e-300}, compared(at_most(0))).verdict ==
        Verdict::holds);
  CHECK(judge_mean(statement, {1, 1, 1}, compared(at_most(0))).verdict == Verdict::fails);
  CHECK(judge_mean(statement, {0, 0, -1e-300}, compared(at_most(0))).detail.find("tie") ==
        std::string::npos);
  CHECK(judge_mean(statement, {0, 0, 0}, at_most(0)).verdict == Verdict::holds);
  CHECK(tie_text({0, 0}, compared(at_most(0))).empty());  // too few values to judge
}

TEST_CASE("a count with an infinite number is undecided") {
  Tally tally{3, 0, 1, HUGE_VAL};
  CHECK(judge_tally(statement, tally).verdict == Verdict::not_applicable);
  CHECK(judge_tally(statement, tally).undecided);
  tally.violations = 1;
  CHECK(judge_tally(statement, tally, "", WorstCase::largest).detail ==
        "the number of a case overflows");
  CHECK(judge_tally(statement, Tally{3, 0}).verdict == Verdict::holds);  // shows no number
}

TEST_CASE("values selected among candidates have a wider interval") {
  // Student's quantile for 99.5 % and two degrees of freedom is 14.089, so the half width of {-1,
  // 0, 1} is 8.13.
  const Claim chosen = judge_mean(statement, {-1, 0, 1}, within(0, 8.2), "", 2);
  CHECK(chosen.verdict == Verdict::holds);
  CHECK(evidence_text(chosen) == "mean 0 +- 8.134 (99.5 %, 3 seeds)");
  CHECK(judge_mean(statement, {-1, 0, 1}, within(0, 8.1), "", 2).verdict ==
        Verdict::not_applicable);
}

TEST_CASE("fewer than three independent values are always undecided") {
  for (const std::vector<double>& few : {std::vector<double>{1.0}, {1.0, 1.0}, {1.0, NAN, 1.0}}) {
    const Claim claim = judge_mean(statement, few, at_most(100));
    CHECK(claim.verdict == Verdict::not_applicable);
    CHECK(claim.undecided);
    CHECK(claim.detail == "at least 3 independent units are needed");
  }
  CHECK(judge_mean(statement, {1.0, 1.0, 1.0}, at_most(100)).verdict == Verdict::holds);
}

TEST_CASE(
    "a count of a run with too few units can only fail, unless the statement is a theorem about "
    "every case") {
  Statement figure = statement, theorem = statement;
  figure.kind = Kind::figure, theorem.kind = Kind::theorem;
  const auto verdicts = [&](std::size_t units, Unit unit) {
    Claims claims;
    claims.set_unit(unit);
    claims.set_units(units);
    claims.never_violated(figure, Tally{40, 0});
    claims.never_violated(figure, Tally{40, 1});
    claims.never_violated(theorem, Tally{40, 0});
    std::string out;
    for (const Claim& claim : claims.take())
      out += claim.verdict == Verdict::holds ? 'h' : claim.verdict == Verdict::fails ? 'f' : '-';
    return out;
  };
  CHECK(verdicts(2, Unit::training) == "-fh");
  CHECK(verdicts(3, Unit::training) == "hfh");
  CHECK(verdicts(1, Unit::none) == "hfh");  // nothing is random
}

// Cases in each trial; negative: violations.
Tally tally_over(const std::vector<int>& cases) {
  Tally tally;
  for (const int count : cases) {
    tally.begin_trial();
    for (int i = 0; i < std::abs(count); ++i) tally.count(count < 0);
  }
  tally.end_trials();
  return tally;
}

Claim judged(const Tally& tally, Kind kind = Kind::figure) {
  Statement of_kind = statement;
  of_kind.kind = kind;
  Claims claims;
  claims.set_units(12);
  claims.never_violated(of_kind, tally);
  return claims.take()[0];
}

TEST_CASE("a count holds if at least three trials, and more than half of them, have a case") {
  CHECK(judged(tally_over({4, 4, 4})).verdict == Verdict::holds);
  // All cases are of one trial, or of two.
  const Claim one = judged(tally_over({0, 0, 0, 40, 0}));
  CHECK(one.verdict == Verdict::not_applicable);
  CHECK(one.undecided);
  CHECK(one.detail == "at least 3 independent units are needed; no case in trials 0 to 2, 4");
  CHECK(judged(tally_over({9, 9, 0})).undecided);
  // Half of the trials have none; in a larger part the rest decides.
  CHECK(judged(tally_over({1, 1, 1, 0, 0, 0})).detail ==
        "3 of 6 seeds have no case; no case in trials 3 to 5");
  const Claim most = judged(tally_over({1, 1, 1, 1, 0, 0, 0}));
  CHECK(most.verdict == Verdict::holds);
  CHECK(most.detail == "no case in trials 4 to 6");
  CHECK(judged(tally_over({1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 1, 1})).detail ==
        "no case in 5 of 13 trials");
  // One violation refutes, and a theorem about every finite case needs one case.
  CHECK(judged(tally_over({-1, 0, 0, 0})).verdict == Verdict::fails);
  CHECK(judged(tally_over({1, 0, 0, 0}), Kind::theorem).verdict == Verdict::holds);
  // Cases after the trials, such as worked examples, belong to none.
  Tally with_example = tally_over({1, 1});
  with_example.count(false);
  CHECK(judged(with_example).undecided);
}

TEST_CASE("violations are also counted by trial, and tallies of the same trials are added") {
  Tally both = tally_over({-3, 2, 0});
  CHECK(evidence_text(judged(both)) == "3 violations in 5 cases, in 1 of 2 seeds");
  both.add(tally_over({1, -2, 0}));
  CHECK(evidence_text(judged(both)) == "5 violations in 8 cases, in 2 of 2 seeds");
  CHECK(evidence_text(judged(tally_over({-1, 1, 1}))) == "1 violation in 3 cases");
  const Records records = {record_of({1, 5}), record_of({7, 7}), record_of({1, 1})};
  const Tally above = tally_of(records, [](const TrialRecord& record, Tally& tally) {
    for (const double x : record.array("y")) tally.count(x > 4);
  });
  CHECK(evidence_text(judged(above)) == "3 violations in 6 cases, in 2 of 3 seeds");
}

TEST_CASE("equal values have no interval: they are counted, and are not among Holm's means") {
  const Claim equal = judge_mean(statement, {1, 1, 1, NAN}, within(1, 0.01));
  const auto& count = std::get<CountEvidence>(equal.evidence);
  CHECK(count.value == 1);
  CHECK(count.cases == 3);
  CHECK(count.units == 4);
  CHECK(count.units_with_case == 3);
  CHECK(equal.verdict == Verdict::holds);
  CHECK(equal.measured == 1);
  CHECK(evidence_text(equal) == "1 in each of 3 seeds");
  CHECK(
      std::get<CountEvidence>(judge_mean(statement, {1, 1, 1}, at_least(2)).evidence).violations ==
      3);
  // Up to rounding; and a difference of zeros.
  CHECK(std::holds_alternative<CountEvidence>(
      judge_mean(statement, {0.3, 0.1 + 0.2, 0.3}, at_least(0)).evidence));
  CHECK(std::get<CountEvidence>(judge_equivalence(statement, {0, 0, 0}, 0.1).evidence).value == 0);
  CHECK(std::holds_alternative<MeanEvidence>(
      judge_mean(statement, {1, 1, 1.001}, at_least(0)).evidence));
  // {-1, 0, 1} + 6.5 is above 0 with p = 0.0078: a second mean would make it undecided (see below).
  Claims claims;
  claims.mean(sampled, {5.5, 6.5, 7.5}, at_least(0));
  claims.mean(sampled, {1, 1, 1}, compared(at_least(1)));
  CHECK(!claims.take()[0].holm_undecided);
}

TEST_CASE("a share of the trials is judged by the exact binomial interval") {
  // All of n: the lower end solves p^n = 0.005.
  const Claim all = judge_share(statement, 3, 3, at_least(0.999));
  CHECK(all.undecided);
  CHECK(std::get<MeanEvidence>(all.evidence).low ==
        doctest::Approx(std::cbrt(0.005)).epsilon(1e-9));
  CHECK(std::get<MeanEvidence>(all.evidence).high == 1);
  CHECK(evidence_text(all) == "share 1, 0.171 to 1 (99 %, 3 seeds)");
  CHECK(judge_share(statement, 12, 12, at_least(0.64)).verdict == Verdict::holds);  // 0.643
  CHECK(judge_share(statement, 12, 12, at_least(0.65)).undecided);
  CHECK(judge_share(statement, 0, 12, at_least(0.36)).verdict == Verdict::fails);  // 0.357
  CHECK(judge_share(statement, 2, 2, at_least(0)).undecided);
  // Holm by the binomial tail: 12 of 12 at p = 0.64 has 2 * 0.64^12 = 0.00944.
  Claims claims;
  claims.share(sampled, 12, 12, at_least(0.64));
  claims.mean(sampled, {-1, 0, 1}, at_least(0));
  CHECK(claims.take()[0].holm_undecided);
}

TEST_CASE("a mean over half of the trials or fewer confirms nothing") {
  Claims claims;
  claims.mean(sampled, {1, 2, 3, NAN, NAN, NAN}, at_least(-100));
  claims.mean(sampled, {1, 2, 3, 2, NAN, NAN, NAN}, at_least(-100));
  const std::vector<Claim> made = claims.take();
  CHECK(made[0].undecided);
  CHECK(made[0].detail == "3 of 6 seeds have no value");
  CHECK(made[1].verdict == Verdict::holds);
}

TEST_CASE(
    "equivalence and no-worse hold only if the interval is inside the margin; too little power is "
    "undecided") {
  // Student's quantile for 99 % and two degrees of freedom is 9.925, so the half width of {-1, 0,
  // 1} is 9.925 / sqrt(3) = 5.73.
  const std::vector<double> wide = {-1, 0, 1};
  CHECK(judge_equivalence(statement, wide, 5.8).verdict == Verdict::holds);
  CHECK(judge_equivalence(statement, wide, 5.7).verdict == Verdict::not_applicable);
  CHECK(judge_equivalence(statement, {9, 10, 11}, 4).verdict == Verdict::fails);
  CHECK(judge_no_worse(statement, {9, 10, 11}, 4).verdict == Verdict::holds);
  CHECK(judge_no_worse(statement, {-9, -10, -11}, 4).verdict == Verdict::fails);
  CHECK(judge_no_worse(statement, wide, 1).verdict == Verdict::not_applicable);
  CHECK(std::get<EquivalenceEvidence>(judge_no_worse(statement, wide, 1).evidence).margin == 1);
}

TEST_CASE(
    "in simulations, 99 % intervals have their coverage, and an equivalence without power does not "
    "hold") {
  constexpr int runs = 20'000;
  for (const std::size_t n : {3u, 5u, 10u}) {
    CAPTURE(n);
    int covered = 0, held = 0;
    for (int run = 0; run < runs; ++run) {
      Stream stream(7, static_cast<std::uint32_t>(run), "coverage" + std::to_string(n));
      std::vector<double> values(n);
      stream.fill_normal(values);
      // The true mean is 0: a verdict that excludes it is an error of the interval.
      covered += judge_mean(statement, values, at_least(0)).verdict != Verdict::fails &&
                 judge_mean(statement, values, at_most(0)).verdict != Verdict::fails;
      // The true difference is at the margin, a tenth of the spread, so "holds" is wrong.
      for (double& value : values) value += 0.1;
      held += judge_equivalence(statement, values, 0.1).verdict == Verdict::holds;
    }
    // Binomial: 0.01 runs are missed, with a standard deviation of 14; allow 5 of them.
    CHECK(std::abs(covered - 0.99 * runs) < 5 * std::sqrt(0.01 * 0.99 * runs));
    CHECK(held < 0.01 * runs);
  }
}

TEST_CASE(
    "Holm: a mean that is undecided after correction keeps its verdict, and a field says so") {
  // {-1, 0, 1} + c has a standard error of 1/sqrt(3); two degrees of freedom: P(T > t) = (1 - t /
  // sqrt(2 + t^2)) / 2.
  const auto around = [](double c) { return std::vector<double>{c - 1, c, c + 1}; };
  const auto chance = [](double c) {
    const double t = c * std::sqrt(3.0);
    return 1 - t / std::sqrt(2 + t * t);
  };
  REQUIRE(chance(6.5) < 0.01);
  REQUIRE(2 * chance(6.5) > 0.01);
  REQUIRE(3 * chance(20.0) < 0.01);
  Claims claims;
  claims.mean(sampled, around(6.5), at_least(0));
  claims.mean(sampled, around(20), at_least(0));
  claims.mean(sampled, around(0.1), at_least(0));
  claims.never_violated(statement, Tally{2, 0});
  const std::vector<Claim> made = claims.take();
  CHECK(made[0].verdict == Verdict::holds);
  CHECK(made[0].holm_undecided);
  CHECK(made[0].detail.empty());
  CHECK(!made[1].holm_undecided);
  CHECK(made[2].verdict == Verdict::not_applicable);
  Claims alone;
  alone.mean(sampled, around(6.5), at_least(0));
  CHECK(!alone.take()[0].holm_undecided);
}

TEST_CASE("the figures and tables of a claim are those that its source names") {
  using List = std::vector<std::string>;
  CHECK(figures_in("Section 1.2, after eq. (1.5)").empty());
  CHECK(figures_in("Figure 18 (a), caption") == List{"Figure 18 (a)"});
  CHECK(figures_in("Section 2.4, Figure 2 (left)") == List{"Figure 2"});
  CHECK(figures_in("Figures 8, 9, and Table 1") == List{"Figure 8", "Figure 9", "Table 1"});
}

TEST_CASE(
    "claims carry statement, part, kind, figures, threshold, unit, slip and the claim that they "
    "correct") {
  const Place place = in_figure("spectral/fig-1", "spectral/fig-1/", "Figure 1");
  Claims claims;
  claims.set_unit(Unit::training);
  claims.mean(reading(place("a", "t"), "0.1 nats"), {1, 1, 1}, at_least(0));
  const Misprint misprint =
      Place{"spectral/thm-2", "spectral/thm-2/", "Theorem 2", Part::proof}.misprint(
          "spectral/thm-2/sign", "c", "wrong", "right");
  claims.never_violated(misprint.corrected, Tally{3, 1, 0.5, 7}, "", WorstCase::largest);
  claims.number(beyond(printed_number(place("n", "t"))), 2, at_least(1));
  const std::vector<Claim> made = claims.take();
  CHECK(made[0].kind == Kind::reading);
  CHECK(made[0].threshold == "0.1 nats");
  CHECK(made[0].figures == std::vector<std::string>{"Figure 1"});
  CHECK(made[0].unit == Unit::training);
  CHECK(made[0].part == Part::statement);
  CHECK(made[1].kind == Kind::theorem);
  CHECK(made[1].statement_id == "spectral/thm-2");
  CHECK(made[1].part == Part::proof);
  CHECK(misprint.as_printed.slip == "spectral/thm-2/sign");
  CHECK(made[1].slip.empty());
  CHECK(made[2].part == Part::ours);
  CHECK(made[1].misprint_of == "spectral/thm-2/c/as-printed");
  CHECK(std::get<CountEvidence>(made[1].evidence).worst == 7);
  CHECK(made[2].kind == Kind::beyond);
  CHECK(made[2].unit == Unit::none);
}

TEST_CASE("a statement about all cases is judged by its tally") {
  CHECK(judge_tally(statement, {10, 0}).verdict == Verdict::holds);
  const Claim broken = judge_tally(statement, {10, 1}, "largest 3");
  CHECK(broken.verdict == Verdict::fails);
  CHECK(broken.detail == "largest 3");
  CHECK(evidence_text(broken) == "1 violation in 10 cases");
  CHECK(evidence_text(judge_tally(statement, {12012, 0})) == "0 violations in 12,012 cases");
  CHECK(broken.id == statement.id);
  CHECK(broken.source == statement.source);
  CHECK(broken.statement == statement.text);
  CHECK(judge_tally(statement, {}).verdict == Verdict::not_applicable);
}

TEST_CASE(
    "a number without trials holds inside its region and is not applicable if it is undefined") {
  CHECK(judge_number(statement, 2.0, within(2.0, 0.5)).verdict == Verdict::holds);
  CHECK(judge_number(statement, 2.6, within(2.0, 0.5)).verdict == Verdict::fails);
  CHECK(judge_number(statement, NAN, within(2.0, 0.5)).verdict == Verdict::not_applicable);
}

TEST_CASE("a number that misses a region only by rounding counts as inside") {
  const auto verdict = [](double measured) {
    return judge_number(statement, measured, at_least(2.0), "", 1e-10).verdict;
  };
  CHECK(verdict(2.0 * (1 - 1e-12)) == Verdict::holds);
  CHECK(verdict(2.0 * (1 - 1e-8)) == Verdict::fails);
  CHECK(judge_number(statement, 2.0 * (1 - 1e-12), at_least(2.0)).verdict == Verdict::fails);
}

TEST_CASE("places give their statements the prefix of the id and the source") {
  const Place place{"spectral/thm-2", "spectral/thm-2/", "Theorem 2"};
  CHECK(place("a", "t").id == "spectral/thm-2/a");
  CHECK(place("a", "t").source == "Theorem 2");
  const Inequality counted = place.counted("b", "u", "violations.b");
  CHECK(counted.id == "spectral/thm-2/b");
  CHECK(counted.text == "u");
  CHECK(counted.scalar == "violations.b");
  const Misprint misprint = place.misprint("s", "c", "wrong", "right");
  CHECK(misprint.as_printed.id == "spectral/thm-2/c/as-printed");
  CHECK(misprint.as_printed.text == "wrong");
  CHECK(misprint.corrected.id == "spectral/thm-2/c/corrected");
  CHECK(misprint.corrected.text == "right");
}

TEST_CASE(
    "claims keep their order; an unmet hypothesis makes only the claims under it not applicable") {
  Claims claims;
  claims.never_violated(statement, Tally{2, 0});
  {
    const auto relu = claims.only_where("the run is about gelu");
    claims.mean(sampled, {1, 1, 1}, at_most(0));
    const auto met = claims.only_where("");
    claims.number(statement, 1, at_most(2));
  }
  {
    const auto met = claims.only_where("");
    claims.number(statement, 1, at_most(2));
  }
  CHECK_FALSE(claims.applies(statement, "n is too small"));
  CHECK(claims.applies(statement, ""));
  {
    const auto few = claims.only_where("u is above 1", Claims::Unmet::reason_and_measured);
    claims.never_violated(statement, Tally{2, 1}, "largest 3");
  }
  {
    const auto shown = claims.only_where("P is not symmetric", Claims::Unmet::verdict_alone);
    claims.number(statement, 3, at_most(2), "the largest");
  }
  const std::vector<Claim> made = claims.take();
  REQUIRE(made.size() == 7);
  CHECK(made[0].verdict == Verdict::holds);
  for (const std::size_t inapplicable : {1u, 2u}) {
    CHECK(made[inapplicable].verdict == Verdict::not_applicable);
    CHECK(made[inapplicable].detail == "the run is about gelu");
    CHECK(std::isnan(made[inapplicable].measured));
  }
  CHECK(made[3].verdict == Verdict::holds);
  CHECK(made[4].detail == "n is too small");
  CHECK(made[5].verdict == Verdict::not_applicable);
  CHECK(made[5].detail == "u is above 1; measured: 1 violation in 2 cases; largest 3");
  CHECK(made[6].verdict == Verdict::not_applicable);
  CHECK(made[6].detail == "P is not symmetric, compared anyway; the largest");
  CHECK(made[6].measured == 3);
  CHECK(std::get<std::pair<double, double>>(made[6].expected).second == 2);
}

TEST_CASE(
    "fits over sizes give the exponent of a power law, skip undefined points, and give NaN if too "
    "few remain") {
  // y = 3 x^2; the second record lacks a point, the third two.
  const std::vector<double> x = {1, 2, 4, 8};
  const Records records = {record_of({3, 12, 48, 192}), record_of({3, NAN, 48, 192}),
                           record_of({3, 0, -48, 192})};
  const std::vector<double> exponents = slopes_over(records, x, y_at, fit_power);
  CHECK(exponents[0] == doctest::Approx(2.0).epsilon(tolerance::closed_form<double>));
  CHECK(exponents[1] == doctest::Approx(2.0).epsilon(tolerance::closed_form<double>));
  CHECK(std::isnan(exponents[2]));
  // A line fit also uses zero and negative values.
  CHECK(fits_over(records, x, y_at, fit_line)[2].points == 4);
  CHECK(std::isnan(slopes_over(records, {2, 2, 2, 2}, y_at, fit_line)[0]));
}

}  // namespace claims_test
