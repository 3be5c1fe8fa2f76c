// The study regression as a whole: flags, names, verdicts.
#include "experiments/one_step_compare/regression/config.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "experiments/configured_study.hpp"
#include "experiments/one_step_compare/regression/claims.hpp"
#include "experiments/one_step_compare/regression/trial.hpp"
#include "experiments/result_parts.hpp"

using namespace ranklab;

namespace {

const FlagValues tiny = {{"m-high", "12"}, {"k-high", "12"}, {"n-high", "24"}};

const std::vector<double>& values_of(const Result& result, const std::string& name) {
  for (const Scalar& scalar : result.scalars) {
    if (scalar.name == name) return scalar.per_trial;
  }
  FAIL("no scalar " << name);
  return result.scalars.front().per_trial;
}

std::vector<TrialRecord> some_records() {
  RegressionConfig config;
  config.m_high = config.k_high = config.n_high = 12;
  std::vector<TrialRecord> records;
  for (std::uint64_t i = 0; i < 30; ++i) records.push_back(regression_trial(config, false, Trial(1, i, 0)));
  return records;
}

Verdict verdict(const std::vector<TrialRecord>& records, const std::string& id) {
  Result result;
  result.claims = regression_claims(records, decrease_tolerance(false));
  return find_claim(result, id).verdict;
}

}  // namespace

TEST_CASE("regression gives the scalars and series of the contract, and its flags follow from the ratios") {
  const Result result = run_configured(make_regression_study(), tiny, 60);
  for (const char* name : {"violations.guarantee_gd", "violations.guarantee_spec", "violations.two_sided"}) {
    for (const double violated : values_of(result, name)) CHECK((violated == 0 || std::isnan(violated)));
  }
  const auto& predicted = values_of(result, "predicted_ratio");
  const auto& actual = values_of(result, "actual_ratio");
  const auto& wrong = values_of(result, "violations.predicate");
  double sum = 0;
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    if (std::isnan(predicted[i])) continue;
    sum += 1;
    if (std::fabs(actual[i] - 1) > 1e-6) CHECK(wrong[i] == double((predicted[i] >= 1) != (actual[i] >= 1)));
  }
  double binned = 0;
  for (const double count : find_series(result, "trials").mean) binned += std::isnan(count) ? 0 : count;
  CHECK(binned == sum);
  CHECK(find_series(result, "actual_over_predicted").x_name == "predicted_ratio");
}

TEST_CASE("regression does not depend on threads, and the first trials of a longer run are those of a shorter") {
  const Result one = run_configured(make_regression_study(), tiny, 12, false, 1);
  const Result two = run_configured(make_regression_study(), tiny, 24, false, 2);
  for (std::size_t i = 0; i < 12; ++i) {
    const double a = values_of(one, "actual_ratio")[i], b = values_of(two, "actual_ratio")[i];
    CHECK((a == b || (std::isnan(a) && std::isnan(b))));
  }
}

TEST_CASE("in single precision the inequalities hold within its own tolerance") {
  const Result result = run_configured(make_regression_study(), tiny, 60, true);
  for (const char* id : {"spectral/eq-1.4/guarantee-gd", "spectral/eq-1.4/guarantee-specgd",
                         "spectral/eq-1.6/guarantee-gd/corrected", "spectral/eq-4.15/guarantee"}) {
    CHECK(find_claim(result, id).verdict == Verdict::holds);
  }
}

TEST_CASE("each statement of regression fails on a record that violates it") {
  const std::pair<const char*, const char*> statements[] = {
      {"spectral/eq-1.4/guarantee-gd", "violations.guarantee_gd"},
      {"spectral/eq-1.4/guarantee-specgd", "violations.guarantee_spec"},
      {"spectral/eq-1.5/two-sided", "violations.two_sided"},
      {"spectral/eq-1.5/two-sided/mirrored", "violations.two_sided_mirrored"},
      {"spectral/eq-1.5/within-a-factor-of-two", "violations.within_two"},
      {"spectral/eq-1.6/guarantee-gd/corrected", "violations.logistic.guarantee_gd"},
      {"spectral/eq-1.6/guarantee-specgd/corrected", "violations.log_cosh.guarantee_spec"},
      {"spectral/eq-4.14/guarantee", "violations.eq_4_14"},
      {"spectral/eq-4.15/guarantee", "violations.eq_4_15"},
      {"spectral/eq-4.16/guarantees", "violations.eq_4_16_guarantees"},
      {"spectral/eq-4.17/st-at-most-nr", "violations.stable_rank_above_nuclear_rank"},
      {"spectral/eq-4.18/equivalent", "violations.eq_4_17_equivalent"},
      {"spectral/eq-4.18/implies-4.16", "violations.eq_4_18_implies_4_16"},
      {"spectral/section-4.5/guarantee-gd/as-printed", "violations.diagonal.guarantee_gd"},
      {"spectral/section-4.5/guarantee-gd/corrected", "violations.diagonal.guarantee_gd_sharp"},
      {"spectral/section-4.5/guarantee-sign", "violations.diagonal.guarantee_sign"},
      {"spectral/section-4.5/sharp-constant", "violations.diagonal.sharp_above_printed"},
      {"spectral/section-4.5/two-sided/as-printed", "violations.diagonal.two_sided"},
      {"spectral/section-4.5/two-sided/corrected", "violations.diagonal.two_sided_sharp"},
  };
  std::vector<TrialRecord> records = some_records();
  for (const char* cases : {"cases.two_sided", "cases.two_sided_mirrored", "cases.diagonal.two_sided_sharp"}) {
    records[0].set(cases, 1.0);
  }
  for (const auto& statement : statements) {
    const auto& [id, flag] = statement;
    CAPTURE(std::string(statement.first));
    CHECK(verdict(records, id) == Verdict::holds);
    std::vector<TrialRecord> broken = records;
    broken[0].set(flag, 1.0);
    CHECK(verdict(broken, id) == Verdict::fails);
  }
  std::vector<TrialRecord> broken = records;
  broken[0].set("expansion_error", 1e6);
  CHECK(verdict(records, "spectral/eq-1.3/expansion") == Verdict::holds);
  CHECK(verdict(broken, "spectral/eq-1.3/expansion") == Verdict::fails);
}

TEST_CASE("the steps as printed after eq. (1.6) are n times too long") {
  const auto records = some_records();
  CHECK(verdict(records, "spectral/eq-1.6/guarantee-gd/as-printed") == Verdict::fails);
  CHECK(verdict(records, "spectral/eq-1.6/guarantee-specgd/as-printed") == Verdict::fails);
}

TEST_CASE("regression names the flags of shapes that are the wrong way round, and unknown words") {
  CHECK(refusal(make_regression_study(), {{"m-low", "9"}, {"m-high", "8"}}) == "--m-low 9 is not allowed: at most --m-high = 8");
  CHECK(refusal(make_regression_study(), {{"features", "rely"}}).find("relu") != std::string::npos);
  CHECK(refusal(make_regression_study(), {{"labels", "early"}}).find("--labels") != std::string::npos);
}

TEST_CASE("spread of values") {
  const Spread spread = spread_of({3, std::nan(""), 1, 2, 10, 4});
  CHECK(spread.count == 5);
  CHECK(spread.smallest == 1);
  CHECK(spread.median == 3);
  CHECK(spread.upper_tenth == 10);
  CHECK(spread.largest == 10);
  CHECK(std::isnan(spread_of({}).median));
}
