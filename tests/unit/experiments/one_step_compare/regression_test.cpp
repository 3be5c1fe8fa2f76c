// The study regression as a whole: its flags, names and verdicts.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "experiments/configured_study.hpp"
#include "experiments/one_step_compare/one_step_compare.hpp"
#include "experiments/result_parts.hpp"

namespace regression_test {

using namespace ranklab;

namespace {

const FlagValues tiny = {{"m-high", "12"}, {"k-high", "12"}, {"n-high", "24"}};

Records some_records() {
  return records_of(
      *configured(make_regression_study(), {{"m-high", "12"}, {"k-high", "12"}, {"n-high", "12"}}),
      30);
}

Result judged(const Records& records) {
  return result_of(make_regression_study(), {}, records);
}

}  // namespace

TEST_CASE(
    "regression gives the documented scalars and series, and its violations follow from the "
    "ratios") {
  const Result result = run_configured(make_regression_study(), tiny, 60);
  for (const char* name :
       {"violations.guarantee_gd", "violations.guarantee_spec", "violations.two_sided"}) {
    for (const double violated : find_scalar(result, name))
      CHECK((violated == 0 || std::isnan(violated)));
  }
  const auto& predicted = find_scalar(result, "predicted_ratio");
  const auto& actual = find_scalar(result, "actual_ratio");
  const auto& wrong = find_scalar(result, "violations.predicate");
  const auto& undetermined = find_scalar(result, "undetermined_step");
  double sum = 0;
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    if (std::isnan(predicted[i])) continue;
    sum += 1 - undetermined[i];
    if (std::fabs(actual[i] - 1) > 1e-6)
      CHECK(wrong[i] == double((predicted[i] >= 1) != (actual[i] >= 1)));
  }
  double binned = 0;
  for (const double count : find_series(result, "trials").mean)
    binned += std::isnan(count) ? 0 : count;
  CHECK(binned == sum);
  CHECK(find_series(result, "actual_ratio.sample").x.size() == sum);
  CHECK(sum <
        double(std::count_if(
            predicted.begin(), predicted.end(), [](double each) { return std::isfinite(each); })));
  CHECK(find_series(result, "actual_over_predicted").x_name == "predicted_ratio");
  const Series &share = find_series(result, "predicate_wrong_share"),
               &percent = find_series(result, "predicate_wrong_percent");
  CHECK(percent.x == share.x);
  for (std::size_t i = 0; i < share.mean.size(); ++i) {
    CHECK(std::isnan(percent.mean[i]) == std::isnan(share.mean[i]));
    if (!std::isnan(share.mean[i])) CHECK(std::fabs(percent.mean[i] - 100 * share.mean[i]) < 1e-9);
  }
}

TEST_CASE("every curve of the figure of regression has a key, its own or its twin's") {
  const Result result = run_configured(make_regression_study(), tiny, 60);
  REQUIRE(result.figure.panels.size() == 3);
  for (const Panel& panel : result.figure.panels) {
    CAPTURE(panel.title);
    for (const Curve& curve : panel.curves) {
      find_series(result, curve.series);
      CHECK(std::any_of(panel.curves.begin(), panel.curves.end(), [&](const Curve& other) {
        return !other.label.empty() && other.color == curve.color && other.style == curve.style;
      }));
    }
  }
  CHECK(result.figure.panels[2].curves.at(0).series == "predicate_wrong_percent");
}

TEST_CASE(
    "regression does not depend on threads, and a longer run starts with the trials of a shorter "
    "one") {
  const Result one = run_configured(make_regression_study(), tiny, 12, 1);
  const Result two = run_configured(make_regression_study(), tiny, 24, 2);
  for (std::size_t i = 0; i < 12; ++i) {
    const double a = find_scalar(one, "actual_ratio")[i], b = find_scalar(two, "actual_ratio")[i];
    CHECK((a == b || (std::isnan(a) && std::isnan(b))));
  }
}

TEST_CASE("the true statements of regression hold on drawn problems") {
  const Result result = judged(some_records());
  for (const char* id :
       {"eq-1.1/guarantees", "eq-1.3/expansion", "eq-1.4/guarantee-gd", "eq-1.4/guarantee-specgd",
        "eq-1.5/within-a-factor-of-two", "eq-1.6/guarantee-gd/corrected",
        "eq-1.6/guarantee-specgd/corrected", "eq-4.14/guarantee", "eq-4.15/guarantee",
        "eq-4.16/guarantees", "eq-4.17/st-at-most-nr", "eq-4.18/equivalent", "eq-4.18/implies-4.16",
        "section-4.5/guarantee-gd/as-printed", "section-4.5/guarantee-sign"}) {
    CAPTURE(std::string(id));
    CHECK(find_claim(result, "spectral/" + std::string(id)).verdict == Verdict::holds);
  }
}

TEST_CASE("the steps printed after eq. (1.6) are n times too long") {
  const Result result = judged(some_records());
  for (const char* id : {"guarantee-gd/as-printed", "guarantee-specgd/as-printed"})
    CHECK(find_claim(result, "spectral/eq-1.6/" + std::string(id)).verdict == Verdict::fails);
}

TEST_CASE("regression refuses ranges with low above high and unknown words, and names the flag") {
  CHECK(refusal(make_regression_study(), {{"m-low", "9"}, {"m-high", "8"}}) ==
        "--m-low: 9 is not allowed; allowed: at most --m-high = 8");
  CHECK(refusal(make_regression_study(), {{"features", "rely"}}).find("relu") != std::string::npos);
  CHECK(refusal(make_regression_study(), {{"labels", "early"}}).find("--labels") !=
        std::string::npos);
}

TEST_CASE(
    "ratios that differ from 1 only by rounding are in the bin of 1, smaller ratios are not") {
  Records records = some_records();
  records.resize(5);
  // The last ratio lies 4e-6 of a bin below the edge.
  const std::vector<double> ratios = {1 - 1e-12, 1 - 1e-15, 1, 1 + 1e-12, std::exp2(-1e-6)};
  for (std::size_t i = 0; i < ratios.size(); ++i) {
    records[i].set("predicted_ratio", ratios[i]);
    records[i].set("actual_ratio", 1.0);
  }
  const Result result = judged(records);
  const Series& trials = find_series(result, "trials");
  CHECK(trials.mean == std::vector<double>{1, 4});
  CHECK(std::fabs(trials.x.at(1) - std::exp2(0.125)) <= 1e-15);
}

}  // namespace regression_test
