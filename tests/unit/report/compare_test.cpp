#include "report/compare.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

using namespace ranklab;
using nlohmann::json;

namespace {

json sample() {
  return json::parse(R"({
    "trials": {"requested": 4, "completed": 4},
    "scalars": {"a": {"mean": 10.0, "std": 2.0, "n": 4}, "fixed": {"mean": 5.0, "std": 0.0, "n": 4}, "none": {"mean": null, "std": null, "n": 0}},
    "trial_values": {"a": [8, 9, 11, 12]},
    "series": [{"name": "s", "x_name": "t", "x": [0, 1], "mean": [1.0, 2.0], "std": [0.5, 0.0]}],
    "claims": [{"id": "spectral/eq-1.5", "verdict": "holds"}]})");
}

}  // namespace

TEST_CASE("equal documents hold to the bit") {
  const Comparison comparison = compare_results(sample(), sample());
  CHECK(comparison.same_bits);
  CHECK(comparison.within_error_bars);
}

TEST_CASE("three standard errors of the mean decide; what does not vary must agree to rounding") {
  json again = sample();
  again["scalars"]["a"]["mean"] = 12.9;  // 2.9 standard errors of 2 / sqrt(4) = 1
  CHECK(!compare_results(sample(), again).same_bits);
  CHECK(compare_results(sample(), again).within_error_bars);
  again["scalars"]["a"]["mean"] = 13.1;
  CHECK(!compare_results(sample(), again).within_error_bars);
  again = sample();
  again["scalars"]["fixed"]["mean"] = 5.0 * (1 + 1e-12);
  CHECK(compare_results(sample(), again).within_error_bars);
  again["scalars"]["fixed"]["mean"] = 5.00001;
  CHECK(!compare_results(sample(), again).within_error_bars);
}

TEST_CASE("other series, verdicts and undefined values are differences, named") {
  json again = sample();
  again["series"][0]["mean"][1] = 2.1;
  again["claims"][0]["verdict"] = "fails";
  again["scalars"]["none"]["mean"] = 1.0;
  const Comparison comparison = compare_results(sample(), again);
  REQUIRE(comparison.differences.size() == 3);
  CHECK(comparison.differences[0].find("none") != std::string::npos);
  CHECK(comparison.differences[1].find("series s at 1") != std::string::npos);
  CHECK(comparison.differences[2].find("eq-1.5: holds before, fails now") != std::string::npos);
  again = sample();
  again["series"][0]["x"] = {0, 2};
  CHECK(!compare_results(sample(), again).within_error_bars);
  again = sample();
  again["series"] = json::array();
  CHECK(!compare_results(sample(), again).within_error_bars);
}
