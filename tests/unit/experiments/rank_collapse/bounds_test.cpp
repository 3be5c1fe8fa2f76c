// The study bounds as a whole: verdicts, curves, and what must never fail.
#include "experiments/rank_collapse/bounds/config.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/error.hpp"
#include "core/tolerances.hpp"
#include "experiments/configured_study.hpp"
#include "experiments/rank_collapse/bounds/report.hpp"
#include "experiments/rank_collapse/bounds/trial.hpp"
#include "experiments/result_parts.hpp"
#include "linalg/similarity.hpp"
#include "models/blocks/bare_block.hpp"

using namespace ranklab;

namespace {

constexpr std::uint64_t trials = 3;

const FlagValues tiny = {{"tokens", "2,6"}, {"dim", "2,4"}, {"layers", "8"}, {"lambda", "-100,-1,0,1,100,1e6"}, {"a", "0.5,0.9"}};

FlagValues with(FlagValues values, const FlagValues& more) {
  values.insert(values.end(), more.begin(), more.end());
  return values;
}

Result run_study(const FlagValues& values, bool single_precision = false, std::uint64_t threads = 1) {
  return run_configured(make_bounds_study(), values, trials, single_precision, threads);
}

std::string usage_error(const FlagValues& values) {
  return refusal(make_bounds_study(), values);
}

BoundsConfig tiny_config() {
  BoundsConfig config;
  config.tokens = {2, 6};
  config.dim = {2, 4};
  config.spec.layers = 8;
  config.lambda = {-100, -1, 0, 1, 100, 1e6};
  config.a = {0.5, 0.9};
  return config;
}

// Statements with a proof.
const std::vector<std::string> proved = {"thm-4.1/cap",
                                         "thm-4.1/threshold",
                                         "thm-4.1/step-cross-term/corrected",
                                         "thm-4.1/step-row-normalisation/corrected",
                                         "thm-4.1/step-largest-row/corrected",
                                         "thm-4.1/per-layer/corrected",
                                         "thm-4.1/per-layer/turning",
                                         "thm-4.1/statement/corrected",
                                         "thm-4.1/statement/turning",
                                         "thm-4.2/bound",
                                         "thm-4.2/angles",
                                         "thm-4.3/hypotheses",
                                         "thm-4.3/corrected",
                                         "thm-A.7/bound",
                                         "thm-A.8/bound",
                                         "thm-A.10/corrected",
                                         "thm-A.10/sharper",
                                         "lemma-A.9/bound"};

// Statements that the run's random stacks or a worked example refute at these sizes.
const std::vector<std::string> refuted = {"thm-4.1/step-cross-term/as-printed",
                                          "thm-4.1/step-row-normalisation/as-printed",
                                          "thm-4.1/step-largest-row/as-printed",
                                          "thm-4.1/per-layer/as-printed",
                                          "thm-4.1/statement/as-printed",
                                          "thm-4.2/not-doubly",
                                          "thm-4.3/as-printed",
                                          "thm-4.3/half-exponent",
                                          "lemma-A.4",
                                          "thm-A.10/as-printed",
                                          "lemma-A.9/semiseparable"};

Verdict verdict(const Result& result, const std::string& id) {
  return find_claim(result, "lambda-skip/" + id).verdict;
}

}  // namespace

TEST_CASE("bounds: verdicts at a tiny size") {
  const Result result = run_study(tiny);
  for (const std::string& id : proved) {
    CAPTURE(id);
    CHECK(verdict(result, id) == Verdict::holds);
  }
  for (const std::string& id : refuted) {
    CAPTURE(id);
    CHECK(verdict(result, id) == Verdict::fails);
  }
  for (const char* id : {"thm-4.2/exponential", "thm-A.3/cubic", "thm-A.10/doubly-exponential"}) {
    CAPTURE(id);
    CHECK(verdict(result, id) == Verdict::holds);
  }
  CHECK(verdict(result, "thm-A.3/as-printed") == Verdict::not_applicable);
  std::set<std::string> ids;
  for (const Claim& claim : result.claims) CHECK(ids.insert(claim.id).second);
  CHECK(find_scalar(result, "degenerate_rows") == std::vector<double>(trials, 0.0));
  CHECK(find_scalar(result, "violations.thm-4.1.per-layer.corrected") == std::vector<double>(trials, 0.0));
  CHECK(find_scalar(result, "violations.thm-4.1.per-layer.as-printed")[0] > 0);
}

TEST_CASE("bounds: what is proved never fails, extremes and single precision included") {
  const std::vector<FlagValues> extremes = {
      {{"weight-scale", "30"}},
      {{"weight-scale", "0.001"}, {"share-weights", "on"}},
      {{"dim", "1"}},
      {{"causal", "on"}, {"value-weights", "identity"}},
      {{"decay", "0"}},
      {{"decay", "1"}, {"state", "1"}},
      {{"input", "tokens"}, {"vocabulary", "2"}},
      {{"input", "cone"}, {"cone-width", "0"}},
      {{"cone-width", "3"}},
      {{"layers", "1"}},
      {{"model", "lti-ssm"}, {"lambda", "-0.7,-0.01,0.01,0.3"}, {"a", "0.0001"}},
  };
  for (const bool single_precision : {false, true}) {
    for (const FlagValues& extreme : extremes) {
      CAPTURE(single_precision);
      CAPTURE(extreme.front().first);
      CAPTURE(extreme.front().second);
      const Result result = run_study(with(tiny, extreme), single_precision);
      for (const std::string& id : proved) {
        CAPTURE(id);
        CAPTURE(find_claim(result, "lambda-skip/" + id).detail);
        CHECK(verdict(result, id) != Verdict::fails);
      }
      for (const Series& series : result.series) CHECK(series.x.size() == series.mean.size());
    }
  }
}

TEST_CASE("bounds: every counted verdict follows its count") {
  const BoundsConfig config = tiny_config();
  const Trial trial(1, 0, 0);
  const TrialRecord record = bounds::bounds_trial(config, false, trial);
  const Result before = bounds::bounds_result(config, {record});
  std::size_t flipped = 0;
  for (const Claim& claim : before.claims) {
    const std::string name = "tally/" + claim.id.substr(std::string("lambda-skip/").size());
    if (!record.has(name)) continue;
    CAPTURE(claim.id);
    TrialRecord wrong = record, empty = record;
    std::vector<double> counts = record.array(name);
    counts[1] = 1;
    wrong.set(name, counts);
    CHECK(find_claim(bounds::bounds_result(config, {wrong}), claim.id).verdict == Verdict::fails);
    empty.set(name, std::vector<double>{0, 0, arma::datum::inf});
    const Claim none = find_claim(bounds::bounds_result(config, {empty}), claim.id);
    const bool exampled =
        none.detail.find("worked examples") != std::string::npos && none.detail.find(" cases") != std::string::npos;
    if (!exampled) CHECK(none.verdict == Verdict::not_applicable);
    ++flipped;
  }
  CHECK(flipped >= proved.size());
}

TEST_CASE("bounds: means far from what the paper says turn the verdict") {
  const BoundsConfig config = tiny_config();
  const auto judged = [&](const std::string& quantity, double value) {
    std::vector<TrialRecord> records;
    for (std::uint64_t i = 0; i < trials; ++i) {
      records.push_back(bounds::bounds_trial(config, false, Trial(1, i, 0)));
      for (const std::uint64_t N : config.tokens) {
        for (const std::uint64_t d : config.dim) {
          const std::string name = quantity.substr(0, quantity.find(':')) + ".N=" + std::to_string(N) + ",d=" + std::to_string(d) +
                                   "." + quantity.substr(quantity.find(':') + 1);
          REQUIRE(records.back().has(name));
          records.back().set(name, value + 1e-6 * static_cast<double>(i));
        }
      }
    }
    return bounds::bounds_result(config, records);
  };
  CHECK(verdict(judged("thm-4.2:slope", 0.01), "thm-4.2/exponential") == Verdict::fails);
  CHECK(verdict(judged("thm-4.2:growth", 1.0), "thm-4.2/not-doubly") == Verdict::holds);
  CHECK(verdict(judged("thm-A.3:growth", 1.0), "thm-A.3/cubic") == Verdict::fails);
  CHECK(verdict(judged("thm-A.7:slope", 0.1), "thm-A.7/norm") == Verdict::fails);
  CHECK(verdict(judged("thm-A.7:normalised_ratio", 0.01), "thm-A.7/normalised") == Verdict::holds);
  CHECK(verdict(judged("thm-A.8:normalised_ratio", 0.9), "thm-A.8/normalised") == Verdict::fails);
  CHECK(verdict(judged("thm-A.10:growth", 2.0), "thm-A.10/doubly-exponential") == Verdict::fails);
}

TEST_CASE("bounds: curves are those of the stack itself") {
  const Result result = run_study(tiny);
  ModelSpec spec;
  spec.model = "selective-ssm";
  spec.tokens = 6;
  spec.dim = 4;
  spec.layers = 8;
  spec.decay = 0.99;
  settle(spec);
  std::vector<double> mean(9, 0.0);
  for (std::uint64_t i = 0; i < trials; ++i) {
    const Trial trial(1, i, 0);
    State<double> state = draw_input<double>(spec, trial);
    for (std::uint64_t k = 0; k <= 8; ++k) {
      mean[k] += token_spread(state.Y) / trials;
      DrawnTensors<double> tensors = block_tensors<double>(spec, trial, k);
      make_bare_block(spec, tensors)->forward(state, 1.0);
    }
  }
  const Series& mu = find_series(result, "selective-ssm.lambda=1.mu");
  REQUIRE(mu.mean.size() == 9);
  for (std::size_t k = 0; k < 9; ++k) CHECK(mu.mean[k] == doctest::Approx(mean[k]).scale(0).epsilon(tolerance::residual<double>));
  CHECK(mu.x == std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7, 8});
  // Every promise is kept, and a larger skip promises more.
  const Series& last = find_series(result, "attention.final_mu");
  for (const char* name : {"attention.promised_as_printed", "attention.promised_by_turning"}) {
    const Series& promised = find_series(result, name);
    REQUIRE(promised.x == last.x);
    for (std::size_t i = 3; i < last.x.size(); ++i) {  // lambda > 0
      CHECK(promised.mean[i] <= last.mean[i]);
      CHECK(promised.mean[i] >= promised.mean[i - 1]);
    }
    CHECK(promised.mean.back() > 0.5);
  }
  // ||W||_F = 0.9 bounds every layer of Theorem A.7.
  const Series& bound = find_series(result, "thm-A.7.bound");
  for (std::size_t k = 1; k < bound.mean.size(); ++k) CHECK(bound.mean[k] <= 0.9 * bound.mean[k - 1]);
}

TEST_CASE("bounds: attention without skip begins as the bare block does, and a causal mask makes its collapse exponential") {
  const Result result = run_study(tiny);
  for (const bool normalised : {true, false}) {
    CAPTURE(normalised);
    ModelSpec spec;
    spec.tokens = 6;
    spec.dim = 4;
    spec.cone_width = 0.25;
    spec.norm = normalised ? "rows" : "none";
    spec.input = normalised ? "cone" : "gaussian";
    spec.value_weights = normalised ? "orthogonal" : "gaussian";
    settle(spec);
    std::vector<double> mean(3, 0.0);
    for (std::uint64_t i = 0; i < trials; ++i) {
      const Trial trial(1, i, 0);
      State<double> state = draw_input<double>(spec, trial);
      for (std::uint64_t k = 0; k < mean.size(); ++k) {
        mean[k] += (std::log10(token_spread(state.Y)) + state.log2_scale * std::log10(2)) / trials;
        DrawnTensors<double> tensors = block_tensors<double>(spec, trial, k);
        make_bare_block(spec, tensors)->forward(state, 0.0);
      }
    }
    const Series& mu = find_series(result, normalised ? "thm-4.2.log10_mu" : "thm-A.3.log10_mu");
    for (std::size_t k = 0; k < mean.size(); ++k) {
      CHECK(mu.mean[k] == doctest::Approx(mean[k]).epsilon(tolerance::residual<double> / std::pow(10, mean[k])));
    }
  }
  CHECK(verdict(run_study(with(tiny, {{"causal", "on"}, {"layers", "40"}})), "thm-4.2/not-doubly") == Verdict::holds);
}

TEST_CASE("bounds: hypotheses leave cases out, weights of Theorem A.10 bring violations in") {
  BoundsConfig config = tiny_config();
  const Trial trial(1, 0, 0);
  const auto selective = [&](double width, std::uint64_t index = 0) {
    config.spec.cone_width = width;
    return bounds::judge_selective(config, {6, 4}, false, Trial(1, index, 0)).tallies;
  };
  CHECK(selective(0.25).at("lemma-A.4").violations == 0);
  CHECK(selective(0.25).at("thm-4.3/corrected").cases == 8);
  // Wider cones: first Lemma A.4 goes, then phi > 0.
  bool without_lemma = false;
  for (std::uint64_t index = 0; index < 30 * 20; ++index) {
    const auto tallies = selective(0.5 * std::pow(1.1, static_cast<double>(index % 20)), index / 20);
    CHECK((tallies.at("lemma-A.4").violations == 0 || !tallies.contains("thm-4.3/corrected")));
    without_lemma = without_lemma || (tallies.contains("thm-4.3/as-printed") && !tallies.contains("thm-4.3/corrected"));
  }
  CHECK(without_lemma);
  CHECK_FALSE(selective(10).contains("thm-4.3/as-printed"));

  const auto pure = bounds::judge_pure_selective(tiny_config(), {6, 4}, false, trial).tallies;
  CHECK(pure.at("thm-A.10/as-printed/weights=0.1").violations == 0);
  CHECK(pure.at("thm-A.10/as-printed/weights=100").violations == 7);  // all but k = 1, where the exponents agree
  CHECK(pure.at("thm-A.10/corrected").cases == 32);
}

TEST_CASE("bounds: of the sizes the worst is reported") {
  const BoundsConfig config = tiny_config();
  TrialRecord record;
  const std::vector<double> values = {2.0, std::nan(""), -5.0, 4.5};
  std::size_t i = 0;
  for (const std::uint64_t N : config.tokens) {
    for (const std::uint64_t d : config.dim) record.set("t.N=" + std::to_string(N) + ",d=" + std::to_string(d) + ".q", values[i++]);
  }
  CHECK(bounds::worst_size(config, {record}, "t", "q", bounds::as_large) == std::vector<double>{4.5});
  CHECK(bounds::worst_size(config, {record}, "t", "q", bounds::as_small) == std::vector<double>{-5.0});
  CHECK(bounds::worst_size(config, {record}, "t", "q", bounds::away_from_three) == std::vector<double>{-5.0});
}

TEST_CASE("bounds: single precision tells the same story") {
  const Result twice = run_study(tiny, false), once = run_study(tiny, true);
  for (const std::string& id : refuted) {
    CAPTURE(id);
    CHECK(verdict(once, id) == verdict(twice, id));
  }
  const std::vector<double>&mu = find_series(twice, "lti-ssm.lambda=-1.mu").mean,
        &rounded = find_series(once, "lti-ssm.lambda=-1.mu").mean;
  CHECK(mu.back() == doctest::Approx(rounded.back()).scale(0).epsilon(tolerance::residual<float>));
  CHECK(mu.back() != rounded.back());
}

TEST_CASE("bounds: results do not depend on threads, and no trial is no crash") {
  const Result one = run_study(tiny, false, 1), three = run_study(tiny, false, 3);
  REQUIRE(one.scalars.size() == three.scalars.size());
  for (std::size_t i = 0; i < one.scalars.size(); ++i) {
    for (std::size_t t = 0; t < trials; ++t) {
      const double a = one.scalars[i].per_trial[t], b = three.scalars[i].per_trial[t];
      CHECK((a == b || (std::isnan(a) && std::isnan(b))));
    }
  }
  const Result none = bounds::bounds_result(tiny_config(), {});
  CHECK(verdict(none, "thm-4.1/per-layer/turning") == Verdict::holds);  // of the worked examples
  CHECK(verdict(none, "thm-A.7/bound") == Verdict::not_applicable);
}

TEST_CASE("bounds: values that are refused name their flag") {
  CHECK(usage_error({{"a", "0.5,1"}}).find("--a 1 is not allowed") == 0);
  CHECK(usage_error({{"a", "0"}}).find("--a") == 0);
  CHECK(usage_error({{"tokens", "1"}}).find("--tokens") == 0);
  CHECK(usage_error({{"model", "bert"}}).find("--model") == 0);
  CHECK(usage_error({{"lambda", "1e13"}}).find("--lambda") == 0);
  CHECK(usage_error({}).empty());
}

TEST_CASE("bounds: the estimate grows with the sizes, and settling fills in the models' own values") {
  const Estimate small = configured(make_bounds_study(), tiny)->estimate(),
                 large = configured(make_bounds_study(), with(tiny, {{"tokens", "12"}, {"dim", "8"}}))->estimate();
  CHECK(large.bytes > small.bytes);
  CHECK(configured(make_bounds_study(), with(tiny, {{"layers", "16"}}))->estimate().flops ==
        doctest::Approx(2 * small.flops).epsilon(1e-12));
  const auto study = configured(make_bounds_study(), tiny);
  for (const Field& field : study->fields()) {
    if (field.name == "share-weights") CHECK(field.value_text() == "off");
    if (field.name == "input") CHECK(field.value_text() == "gaussian");
    if (field.name == "state") CHECK(field.value_text() == "64");
    CHECK(field.name != "norm");
  }
}
