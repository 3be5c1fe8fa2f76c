#include "result/compare.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "result/typed.hpp"

namespace compare_test {

using namespace ranklab;
using Kind = ComparedItem::Kind;
using nlohmann::json;

namespace {

json sample() {
  return json::parse(R"({
    "trials": {"requested": 4, "completed": 4},
    "scalars": {"a": {"mean": 10.0, "std": 2.0, "n": 4}, "fixed": {"mean": 5.0, "std": 0.0, "n": 4}, "none": {"mean": null, "std": null, "n": 0}},
    "trial_values": {"a": [8, 9, 11, 12]},
    "series": [{"name": "s", "x_name": "t", "x": [0, 1], "mean": [1.0, 2.0], "std": [0.5, 0.0]}],
    "claims": [{"id": "spectral/eq-1.5", "kind": "theorem", "part": "statement", "verdict": "holds", "expected": [0, null],
                "evidence": {"type": "mean", "mean": 2.0, "low": 1, "high": 3, "level": 0.99, "n": 4}}],
    "title": "T", "notes": ["at step 12.5, 3 of 4"], "figure": {"panels": [{"title": "P", "x": {"label": "t", "scale": "linear"}, "y": {"label": "v", "scale": "log"},
                           "curves": [], "lines": [{"y": 1.0, "label": ""}]}]}})");
}

Comparison compared(const json& earlier, const json& again) {
  return compare_results(ranklab::testing::typed(earlier), ranklab::testing::typed(again), "A",
                         "B");
}

const ComparedItem& item(const Comparison& comparison, ComparedItem::Kind kind,
                         std::size_t which = 0) {
  for (const ComparedItem& one : comparison.items) {
    if (one.kind == kind && which-- == 0) return one;
  }
  throw std::out_of_range("no such item");
}

}  // namespace

TEST_CASE("equal documents agree bit for bit") {
  const Comparison comparison = compared(sample(), sample());
  CHECK(comparison.same_bits());
  CHECK(comparison.agrees());
  CHECK(comparison.points == 2);
}

TEST_CASE(
    "Student's quantile corrected for the number of comparisons decides; constants must agree up "
    "to rounding") {
  // a: both standard errors are 2 / sqrt(4) = 1, that of the difference sqrt 2. The result has 3
  // scalars, so the quantile is that of 3 degrees of freedom at 0.0027 / 6 = 0.00045: 13.46 by the
  // closed form of that law, 1/2 - (atan u + u / (1 + u^2)) / pi with u = t / sqrt 3 (at t = 13.46:
  // 0.000449).
  const double t = 13.46, u = t / std::sqrt(3.0);
  REQUIRE(0.5 - (std::atan(u) + u / (1 + u * u)) / std::acos(-1.0) ==
          doctest::Approx(comparison_level / 6).epsilon(0.005));
  json again = sample();
  again["scalars"]["a"]["mean"] = 10 + std::sqrt(2.0) * (t - 0.1);
  CHECK(!compared(sample(), again).same_bits());
  CHECK(compared(sample(), again).agrees());
  again["scalars"]["a"]["mean"] = 10 + std::sqrt(2.0) * (t + 0.1);
  CHECK(compared(sample(), again).differing(Kind::scalar) == 1);
  CHECK(item(compared(sample(), again), Kind::scalar).distance == "13.56 standard errors");
  again = sample();
  again["scalars"]["fixed"]["mean"] = 5.0 * (1 + 1e-12);
  CHECK(compared(sample(), again).agrees());
  again["scalars"]["fixed"]["mean"] = 5.00001;
  CHECK(!compared(sample(), again).agrees());
}

TEST_CASE(
    "points without a spread and their x values must agree to a few millionths; values as small as "
    "rounding count as 0") {
  json again = sample();
  again["series"][0]["x"] = {0, 1 + 1e-6};
  again["series"][0]["mean"][1] = 2 * (1 + 1e-6);
  CHECK(compared(sample(), again).agrees());
  again["series"][0]["mean"][1] = 2 * (1 + 4e-6);
  CHECK(item(compared(sample(), again), Kind::series).difference ==
        "differs at 1 of 2 points; at 1: 2, 2");
  json zero = sample();
  zero["scalars"]["fixed"]["mean"] = 3e-10;
  again = zero;
  again["scalars"]["fixed"]["mean"] = -6e-10;
  CHECK(compared(zero, again).agrees());
  again["scalars"]["fixed"]["mean"] = 2e-9;
  CHECK(compared(zero, again).differing(Kind::scalar) == 1);
}

TEST_CASE("a single trial has no error bars, so only rounding is tolerated") {
  json one = sample();
  one["trials"]["completed"] = 1;
  one["scalars"]["a"] = {{"mean", 10.0}, {"std", 0.0}, {"n", 1}};
  CHECK(compared(one, one).no_error_bars());
  CHECK(!compared(sample(), sample()).no_error_bars());
  json again = one;
  again["scalars"]["a"]["mean"] = 10.001;
  CHECK(compared(one, again).differing(Kind::scalar) == 1);
  CHECK(item(compared(one, again), Kind::scalar).distance == "no error bars");
}

TEST_CASE("the tolerance of a point is wider for thousands of points than for two") {
  const auto noisy = [](int points, double last) {
    json result = sample();
    json& series = result["series"][0];
    series["x"] = series["mean"] = series["std"] = json::array();
    for (int i = 0; i < points; ++i) {
      series["x"].push_back(i);
      series["mean"].push_back(i + 1 < points ? 1.0 : last);
      series["std"].push_back(2.0);  // standard error 1 with 4 trials
    }
    return result;
  };
  const double far = 1 + 20 * std::sqrt(2.0);  // 20 standard errors of the difference
  CHECK(compared(noisy(2, 1), noisy(2, far)).differing(Kind::series) == 1);
  CHECK(compared(noisy(4000, 1), noisy(4000, far)).differing(Kind::series) == 0);
  const Comparison two = compared(noisy(2, 1), noisy(2, far));
  CHECK(item(two, Kind::series).difference == "differs at 1 of 2 points; at 1: 1, 29.28");
  CHECK(item(two, Kind::series).distance == "at most 20 standard errors, at 1");
}

TEST_CASE("differing series, verdicts and undefined values are reported by name") {
  json again = sample();
  again["series"][0]["mean"][1] = 2.1;
  again["series"][0]["std"][1] = 0.0;
  again["claims"][0]["verdict"] = "fails";
  again["scalars"]["none"]["mean"] = 1.0;
  const Comparison comparison = compared(sample(), again);
  CHECK(comparison.differing(Kind::scalar) == 1);
  CHECK(comparison.differing(Kind::series) == 1);
  CHECK(item(comparison, Kind::series).distance == "no error bars, at 1");
  CHECK(item(comparison, Kind::claim).a == "holds");
  CHECK(item(comparison, Kind::claim).b == "fails");
  CHECK(comparison.first_difference == "scalars[2].mean");
  again = sample();
  again["series"][0]["x"] = {0, 2};
  CHECK(item(compared(sample(), again), Kind::series).difference == "different points");
}

TEST_CASE("titles, notes, figures and the fields of a claim are compared") {
  const auto changed = [](const auto& change) {
    json again = sample();
    change(again);
    CHECK(!compared(sample(), again).same_bits());
    return compared(sample(), again);
  };
  const auto part = [&](const auto& change) {
    const Comparison comparison = changed(change);
    CHECK(comparison.differing(Kind::part) == 1);
    return item(comparison, Kind::part).difference;
  };
  CHECK(part([](json& r) { r["title"] = "U"; }) == "another title");
  CHECK(part([](json& r) { r["status"] = "diverged"; }) == "another status");
  CHECK(part([](json& r) { r["notes"][0] = "at step 12.5, 3 of 4 seeds"; }) == "another notes");
  CHECK(part([](json& r) { r["figure"]["panels"][0]["title"] = "Q"; }) == "another figure");
  CHECK(part([](json& r) { r["figure"]["panels"][0]["lines"][0]["y"] = 1.1; }) == "another figure");
  const auto claim = [&](const auto& change) {
    return item(changed(change), Kind::claim).difference;
  };
  CHECK(claim([](json& r) { r["claims"][0]["kind"] = "printed-number"; }) == "another kind");
  CHECK(claim([](json& r) { r["claims"][0]["part"] = "proof"; }) == "another part");
  CHECK(claim([](json& r) { r["claims"][0]["judged_in"] = "p"; }) == "another judged_in");
  CHECK(claim([](json& r) { r["claims"][0]["expected"] = {1, nullptr}; }) == "another expected");
  CHECK(claim([](json& r) {
          r["claims"][0]["evidence"] = {{"type", "number"}, {"value", 2}};
        }) == "another evidence");
  // Another kernel may round a number in a sentence or of a line, and change a mean.
  CHECK(changed([](json& r) { r["notes"][0] = "at step 12.49, 3 of 4"; }).agrees());
  CHECK(changed([](json& r) { r["figure"]["panels"][0]["lines"][0]["y"] = 1 + 1e-9; }).agrees());
  CHECK(changed([](json& r) { r["claims"][0]["evidence"]["mean"] = 2.1; }).agrees());
  CHECK(changed([](json& r) { r["claims"][0]["detail"] = "1 of 4 seeds diverged"; }).agrees());
}

TEST_CASE("an item that is missing in either result is a difference") {
  for (const char* part : {"scalars", "series", "claims"}) {
    CAPTURE(part);
    json without = sample();
    without[part] = part == std::string("scalars") ? json::object() : json::array();
    CHECK(!compared(sample(), without).agrees());
    CHECK(!compared(without, sample()).agrees());
  }
  json without = sample();
  without["scalars"].erase("a");
  CHECK(item(compared(without, sample()), Kind::scalar, 2).difference == "missing in A");
  CHECK(item(compared(sample(), without), Kind::scalar).difference == "missing in B");
}

TEST_CASE("thousands of claims, scalars and series are compared in time") {
  json many = sample();
  for (int i = 0; i < 20'000; ++i) {
    many["claims"].push_back(many["claims"][0]);
    many["claims"].back()["id"] = "spectral/eq-1.5/" + std::to_string(i);
    many["series"].push_back(many["series"][0]);
    many["series"].back()["name"] = "s" + std::to_string(i);
  }
  const ResultFile file = ranklab::testing::typed(many);
  const std::clock_t start = std::clock();
  CHECK(compare_results(file, file, "A", "B").agrees());
  CHECK(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC < 5);  // takes 0.1
}

}  // namespace compare_test
