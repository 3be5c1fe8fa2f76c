// The study bounds as a whole: its verdicts, its curves, and the statements that can never fail.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/error.hpp"
#include "core/tolerances.hpp"
#include "experiments/configured_study.hpp"
#include "experiments/rank_collapse/bounds/attention.hpp"
#include "experiments/rank_collapse/bounds/state_space.hpp"
#include "experiments/rank_collapse/bounds/with_skip.hpp"
#include "experiments/rank_collapse/rank_collapse.hpp"
#include "experiments/rank_collapse/stacked_model.hpp"
#include "experiments/result_parts.hpp"
#include "linalg/similarity.hpp"
#include "nn/blocks/bare_block.hpp"
#include "nn/blocks/model_row.hpp"

namespace bounds_test {

using namespace ranklab;

namespace {

constexpr std::uint64_t trials = 3;

const FlagValues tiny = {{"tokens", "2,6"},
                         {"dim", "2,4"},
                         {"layers", "8"},
                         {"lambda", "-100,-1,0,1,100,1e6"},
                         {"a", "0.5,0.9"}};

FlagValues with(FlagValues values, const FlagValues& more) {
  values.insert(values.end(), more.begin(), more.end());
  return values;
}

Result run_study(const FlagValues& values, std::uint64_t threads = 1) {
  return run_configured(make_bounds_study(), values, trials, threads);
}

std::string usage_error(const FlagValues& values) {
  return refusal(make_bounds_study(), values);
}

bounds::Config tiny_config() {
  bounds::Config config;
  config.tokens = {2, 6};
  config.dim = {2, 4};
  config.spec.layers = 8;
  config.lambda = {-100, -1, 0, 1, 100, 1e6};
  config.a = {0.5, 0.9};
  return config;
}

// Statements that have a proof.
const std::vector<std::string> proved = {"thm-4.1/cap",
                                         "thm-4.1/threshold",
                                         "thm-4.1/step-cross-term/corrected",
                                         "thm-4.1/step-row-normalisation/corrected",
                                         "thm-4.1/step-largest-row/corrected",
                                         "thm-4.1/per-layer/corrected",
                                         "thm-4.1/per-layer/turning",
                                         "thm-4.1/statement/corrected",
                                         "thm-4.1/statement/turning",
                                         "thm-4.1/per-layer/sketch/corrected",
                                         "thm-4.1/own-lambda/layer",
                                         "thm-4.1/own-lambda/layer/sharper",
                                         "thm-4.1/own-lambda/stack",
                                         "thm-4.1/own-lambda/saves",
                                         "remark-4.1/rate-below-1",
                                         "remark-4.1/prevents",
                                         "remark-4.1/prevents/sharper",
                                         "lemma-A.1/corrected",
                                         "lemma-A.5/corrected",
                                         "lemma-A.6",
                                         "thm-A.8/step-norm/corrected",
                                         "section-A.13.1/lti/corrected",
                                         "section-4.1/footnote-2/selective-ssm/corrected",
                                         "section-4.1/footnote-2/attention",
                                         "section-4.2.1/lambda-min/bound",
                                         "thm-4.2/bound",
                                         "thm-4.2/angles",
                                         "thm-4.3/hypotheses",
                                         "thm-4.3/corrected",
                                         "section-4.2.1/lambda-min/corrected",
                                         "cor-A.3.1/norms/corrected",
                                         "thm-A.7/bound",
                                         "thm-A.8/bound",
                                         "thm-A.10/corrected",
                                         "thm-A.10/sharper",
                                         "lemma-A.9/bound",
                                         "lemma-A.9/semiseparable/corrected"};

// Statements that the random stacks or a worked example refute at these sizes.
const std::vector<std::string> refuted = {"thm-4.1/step-cross-term/as-printed",
                                          "thm-4.1/step-row-normalisation/as-printed",
                                          "thm-4.1/step-largest-row/as-printed",
                                          "thm-4.1/per-layer/as-printed",
                                          "thm-4.1/per-layer/sketch/as-printed",
                                          "thm-4.1/statement/as-printed",
                                          "thm-4.1/own-lambda/layer/as-printed",
                                          "section-4.1/footnote-2/selective-ssm/as-printed",
                                          "remark-4.1/S/as-printed",
                                          "lemma-A.1/as-printed",
                                          "lemma-A.5/as-printed",
                                          "thm-A.8/step-norm/as-printed",
                                          "section-A.13.1/lti/as-printed",
                                          "thm-4.3/as-printed",
                                          "thm-4.3/half-exponent",
                                          "thm-4.3/step-lambda-max/as-printed",
                                          "section-4.2.1/lambda-min/as-printed",
                                          "cor-A.3.1/exponent/as-printed",
                                          "cor-A.3.1/norms/as-printed",
                                          "lemma-A.4",
                                          "thm-A.10/as-printed",
                                          "lemma-A.9/semiseparable"};

Verdict verdict(const Result& result, const std::string& id) {
  return find_claim(result, "lambda-skip/" + id).verdict;
}

}  // namespace

TEST_CASE("bounds: proved claims hold and refuted claims fail at a tiny size") {
  constexpr std::size_t enough = 6;
  const Result result =
      run_configured(make_bounds_study(), tiny, enough);  // enough for the slopes of random stacks
  for (const std::string& id : proved) {
    CAPTURE(id);
    CHECK(verdict(result, id) == Verdict::holds);
  }
  for (const std::string& id : refuted) {
    CAPTURE(id);
    CHECK(verdict(result, id) == Verdict::fails);
  }
  for (const char* id :
       {"thm-4.2/exponential", "section-4.2.1/no-skip/attention",
        "section-4.2.1/no-skip/selective-ssm", "thm-4.2/growth", "thm-A.3/cubic",
        "thm-A.10/doubly-exponential", "remark-4.1/S/corrected", "remark-4.1/fig-2",
        "cor-A.3.1/exponent/corrected", "section-A.13.1/norm-below-1"}) {
    CAPTURE(id);
    CHECK(verdict(result, id) == Verdict::holds);
  }
  CHECK(verdict(result, "thm-A.3/as-printed") == Verdict::not_applicable);
  std::set<std::string> ids;
  for (const Claim& claim : result.claims) CHECK(ids.insert(claim.id).second);
  CHECK(find_scalar(result, "degenerate_rows") == std::vector<double>(enough, 0.0));
  CHECK(find_scalar(result, "violations.thm-4.1.per-layer.corrected") ==
        std::vector<double>(enough, 0.0));
  CHECK(find_scalar(result, "violations.thm-4.1.per-layer.as-printed")[0] > 0);
}

TEST_CASE("bounds: proved claims never fail, even at extreme settings") {
  const std::vector<FlagValues> extremes = {
      {{"weight-scale", "30"}},
      {{"weight-scale", "0.001"}, {"share-weights", "on"}},
      {{"dim", "1"}},
      {{"decay", "0"}},
      {{"decay", "1"}, {"state", "1"}},
      {{"input", "tokens"}, {"vocabulary", "2"}},
      {{"input", "cone"}, {"cone-width", "0"}},
      {{"cone-width", "3"}},
      {{"layers", "1"}},
      {{"model", "lti-ssm"}, {"lambda", "-0.7,-0.01,0.01,0.3"}, {"a", "0.0001"}},
  };
  for (const FlagValues& extreme : extremes) {
    CAPTURE(extreme.front().first);
    CAPTURE(extreme.front().second);
    const Result result = run_study(with(tiny, extreme));
    for (const std::string& id : proved) {
      CAPTURE(id);
      CAPTURE(find_claim(result, "lambda-skip/" + id).detail);
      CHECK(verdict(result, id) != Verdict::fails);
    }
    for (const Series& series : result.series) CHECK(series.x.size() == series.mean.size());
  }
}

TEST_CASE(
    "bounds: trials count every proved statement, and every count belongs to a claim or to a part "
    "of one") {
  const TrialRecord record = bounds::run_trial(tiny_config(), Trial(1, 0, 0));
  for (const std::string& id : proved) {
    CAPTURE(id);
    CHECK(record.tally("lambda-skip/" + id).cases > 0);
  }
  std::set<std::string> ids;
  for (const Claim& claim : tiny_config().report({record}).claims) ids.insert(claim.id);
  const std::set<std::string> parts = {bounds::thm_4_1::meets_7, bounds::thm_4_2::hypothesis,
                                       bounds::thm_4_3::hypothesis};
  for (const auto& [name, numbers] : record.arrays()) {
    if (!name.starts_with("tally/")) continue;
    const auto& shown = name;  // clang 14 cannot capture a structured binding
    CAPTURE(shown);
    const std::string id = name.substr(6), whole = id.substr(0, id.rfind('/'));
    CHECK((ids.contains(id) || ids.contains(whole) || parts.contains(id)));
  }
}

TEST_CASE("bounds: means far from what the paper says change the verdict") {
  const bounds::Config config = tiny_config();
  Records measured;
  for (std::uint64_t i = 0; i < trials; ++i)
    measured.push_back(bounds::run_trial(config, Trial(1, i, 0)));
  const auto with_numbers = [&](const std::string& name, double value) {
    Records records = measured;
    for (std::size_t i = 0; i < records.size(); ++i) {
      REQUIRE(records[i].has(name));
      records[i].set(name, value + 1e-6 * static_cast<double>(i));
    }
    return config.report(records);
  };
  const auto judged = [&](const bounds::Worst& number, double value) {
    return with_numbers(std::string("worst/") + number.name, value);
  };
  using namespace bounds;
  CHECK(verdict(judged(thm_4_2::slope, 0.01), "thm-4.2/exponential") == Verdict::fails);
  CHECK(verdict(judged(thm_4_2::growth, 1.0), "thm-4.2/growth") == Verdict::fails);
  CHECK(verdict(judged(thm_A_3::growth, 1.0), "thm-A.3/cubic") == Verdict::fails);
  CHECK(verdict(judged(thm_A_7.slope, 0.1), "thm-A.7/norm") == Verdict::fails);
  CHECK(verdict(judged(thm_A_7.normalized_ratio, 0.01), "thm-A.7/normalised") == Verdict::holds);
  CHECK(verdict(judged(thm_A_8.normalized_ratio, 0.9), "thm-A.8/normalised") == Verdict::fails);
  CHECK(verdict(judged(thm_A_10::growth, 2.0), "thm-A.10/doubly-exponential") == Verdict::fails);
  CHECK(verdict(with_numbers(remark_4_1::mu_at_5, 0.09), "remark-4.1/fig-2") == Verdict::fails);
  CHECK(verdict(with_numbers(remark_4_1::mu_at_5, 0.11), "remark-4.1/fig-2") == Verdict::holds);
  // 5 is not much smaller than 49.
  CHECK(verdict(with_numbers(remark_4_1::lambda_printed, 49), "remark-4.1/fig-2") ==
        Verdict::not_applicable);
}

TEST_CASE("bounds: S of Remark 4.1 is one number, the Frobenius norm of the identity") {
  for (const char* dim : {"1", "9"}) {
    const Result result = run_study(with(tiny, {{"dim", dim}, {"layers", "1"}}));
    const Claim &printed = find_claim(result, "lambda-skip/remark-4.1/S/as-printed"),
                &corrected = find_claim(result, "lambda-skip/remark-4.1/S/corrected");
    CHECK(printed.kind == Kind::printed_number);
    CHECK(printed.slip == "lambda-skip/remark-4.1/S");
    CHECK(printed.part == Part::definition);  // the conclusions of the remark do not rest on S
    CHECK(printed.measured == doctest::Approx(dim == std::string("1") ? 1 : 3).epsilon(1e-14));
    CHECK(printed.verdict == (dim == std::string("1") ? Verdict::holds : Verdict::fails));
    CHECK(corrected.verdict == Verdict::holds);
    CHECK(corrected.misprint_of == printed.id);
  }
}

TEST_CASE("bounds: what the paper leaves open, and what it does not say, is no accusation") {
  const Result result = run_study(tiny);
  for (const char* id : {"thm-4.2/exponential", "section-4.2.1/no-skip/attention", "thm-A.3/cubic",
                         "thm-A.7/norm", "thm-A.8/norm", "thm-A.10/doubly-exponential"}) {
    CAPTURE(id);
    const Claim& claim = find_claim(result, std::string("lambda-skip/") + id);
    CHECK(claim.kind == Kind::asymptotic);
    CHECK(!claim.threshold.empty());
  }
  for (const char* id :
       {"thm-4.1/cap", "thm-4.1/own-lambda/layer/sharper", "remark-4.1/prevents/sharper",
        "thm-4.2/growth", "thm-4.2/bound", "thm-4.2/angles", "section-4.2.1/lambda-min/bound",
        "remark-4.1/fig-2", "thm-4.3/half-exponent", "thm-A.7/normalised", "thm-A.8/normalised",
        "section-A.13.1/norm-below-1"}) {
    CAPTURE(id);
    const Claim& claim = find_claim(result, std::string("lambda-skip/") + id);
    CHECK(claim.kind == Kind::beyond);
    CHECK(claim.part == Part::ours);
    CHECK(claim.misprint_of.empty());
  }
  // Whatever is judged for every finite case and fails shows a slip.
  for (const Claim& claim : result.claims) {
    CAPTURE(claim.id);
    CHECK(!claim.statement_id.empty());
    if (claim.verdict == Verdict::fails && claim.kind != Kind::beyond &&
        claim.kind != Kind::reading)
      CHECK(claim.slip.starts_with(claim.statement_id));
  }
}

TEST_CASE("bounds: the curves equal those of the stack itself") {
  const Result result = run_study(tiny);
  ModelSpec spec;
  spec.model = "selective-ssm";
  spec.tokens = 6;
  spec.dim = 4;
  spec.layers = 8;
  spec.decay = 0.99;
  resolve_defaults(spec);
  std::vector<double> mean(9, 0.0);
  for (std::uint64_t i = 0; i < trials; ++i) {
    const Trial trial(1, i, 0);
    State<double> state = draw_input<double>(spec, trial);
    for (std::uint64_t k = 0; k <= 8; ++k) {
      mean[k] += token_spread(state.Y) / trials;
      DrawnTensors<double> tensors = block_tensors<double>(spec, trial, k);
      make_block_of<BareBlock>(spec, tensors)->forward(state, 1.0);
    }
  }
  const Series& mu = find_series(result, "selective-ssm.lambda=1.mu");
  REQUIRE(mu.mean.size() == 9);
  for (std::size_t k = 0; k < 9; ++k)
    CHECK(mu.mean[k] == doctest::Approx(mean[k]).scale(0).epsilon(tolerance::residual<double>));
  CHECK(mu.x == std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7, 8});
  // Every lower bound holds, and a larger skip has a larger bound.
  const Series& last = find_series(result, "attention.final_mu");
  for (const char* name : {"attention.promised_as_printed", "attention.promised_by_turning"}) {
    const Series& promised = find_series(result, name);
    std::ptrdiff_t compared = 0;
    for (std::size_t i = 0; i < promised.x.size(); ++i) {
      CHECK(promised.mean[i] >= (i == 0 ? 0 : promised.mean[i - 1]));
      const auto at = std::ranges::find(last.x, promised.x[i]);
      if (at == last.x.end()) continue;
      CHECK(promised.mean[i] <= last.mean[static_cast<std::size_t>(at - last.x.begin())]);
      ++compared;
    }
    CHECK(compared == std::ranges::count_if(last.x, [](double lambda) { return lambda > 0; }));
    CHECK(promised.mean.back() > 0.5);
  }
  // ||W||_F = 0.9 bounds the factor of every layer of Theorem A.7.
  const Series& bound = find_series(result, "thm-A.7.bound");
  for (std::size_t k = 1; k < bound.mean.size(); ++k)
    CHECK(bound.mean[k] <= 0.9 * bound.mean[k - 1]);
}

TEST_CASE("bounds: attention without a skip first equals the bare block") {
  const Result result = run_study(tiny);
  for (const bool normalized : {true, false}) {
    CAPTURE(normalized);
    ModelSpec spec;
    spec.tokens = 6;
    spec.dim = 4;
    spec.cone_width = 0.25;
    spec.norm = normalized ? "rows" : "none";
    spec.input = normalized ? "cone" : "gaussian";
    spec.value_weights = normalized ? "orthogonal" : "gaussian";
    resolve_defaults(spec);
    std::vector<double> mean(3, 0.0);
    for (std::uint64_t i = 0; i < trials; ++i) {
      const Trial trial(1, i, 0);
      State<double> state = draw_input<double>(spec, trial);
      for (std::uint64_t k = 0; k < mean.size(); ++k) {
        mean[k] += (std::log10(token_spread(state.Y)) + state.log2_scale * std::log10(2)) / trials;
        DrawnTensors<double> tensors = block_tensors<double>(spec, trial, k);
        make_block_of<BareBlock>(spec, tensors)->forward(state, 0.0);
      }
    }
    const Series& mu = find_series(result, normalized ? "thm-4.2.log10_mu" : "thm-A.3.log10_mu");
    for (std::size_t k = 0; k < mean.size(); ++k) {
      CHECK(mu.mean[k] ==
            doctest::Approx(mean[k]).epsilon(tolerance::residual<double> / std::pow(10, mean[k])));
    }
  }
}

TEST_CASE(
    "bounds: unmet hypotheses exclude cases, and the weights of Theorem A.10 cause violations") {
  using namespace bounds;
  bounds::Config config = tiny_config();
  const auto selective = [&](double width, std::uint64_t index = 0) {
    config.spec.cone_width = width;
    TrialRecord record;
    judge_selective(config, {6, 4}, Trial(1, index, 0), record);
    return record;
  };
  const std::string lemma = thm_4_3::lemma_A_4.id, as_printed = thm_4_3::as_printed.id,
                    corrected = thm_4_3::corrected.id;
  CHECK(selective(0.25).tally(lemma).cases > 0);
  CHECK(selective(0.25).tally(lemma).violations == 0);
  CHECK(selective(0.25).tally(corrected).cases == 8);
  // In wider cones, Lemma A.4 fails first, then phi > 0.
  bool without_lemma = false;
  for (std::uint64_t index = 0; index < 30 * 20; ++index) {
    const TrialRecord record =
        selective(0.5 * std::pow(1.1, static_cast<double>(index % 20)), index / 20);
    REQUIRE(record.has_tally(lemma));
    CHECK((record.tally(lemma).violations == 0 || !record.has_tally(corrected)));
    without_lemma = without_lemma || (record.has_tally(as_printed) && !record.has_tally(corrected));
  }
  CHECK(without_lemma);
  CHECK(selective(10).tally(thm_4_3::hypothesis).violations == 1);
  CHECK_FALSE(selective(10).has_tally(as_printed));

  TrialRecord pure;
  judge_pure_selective(tiny_config(), {6, 4}, Trial(1, 0, 0), pure);
  REQUIRE(pure.tally(thm_A_10::at_weights(0.1)).cases == 8);
  CHECK(pure.tally(thm_A_10::at_weights(0.1)).violations == 0);
  CHECK(pure.tally(thm_A_10::at_weights(100)).violations ==
        7);  // every layer except k = 1, where the exponents are equal
  CHECK(pure.tally(thm_A_10::corrected.id).cases == 32);
}

TEST_CASE("bounds: the worst value over the sizes is reported") {
  const auto worst = [](double (*badness)(double), const std::vector<double>& values) {
    const bounds::Worst number = {{"q"}, badness};
    TrialRecord record;
    for (const double value : values) bounds::keep_worst(record, number, value);
    return bounds::worst_of({record}, number).front();
  };
  const std::vector<double> values = {2.0, std::nan(""), -5.0, 4.5};
  CHECK(worst(bounds::larger_is_worse, values) == 4.5);
  CHECK(worst(bounds::smaller_is_worse, values) == -5.0);
  CHECK(worst(bounds::distance_to_three, values) == -5.0);
  CHECK(worst(bounds::smaller_is_worse, {std::nan(""), 2.0, INFINITY, 3.0}) == 2.0);
  CHECK(std::isnan(worst(bounds::larger_is_worse, {std::nan(""), INFINITY})));
}

TEST_CASE("bounds: results do not depend on threads") {
  const Result one = run_study(tiny, 1), three = run_study(tiny, 3);
  REQUIRE(one.scalars.size() == three.scalars.size());
  for (std::size_t i = 0; i < one.scalars.size(); ++i) {
    for (std::size_t t = 0; t < trials; ++t) {
      const double a = one.scalars[i].per_trial[t], b = three.scalars[i].per_trial[t];
      CHECK((a == b || (std::isnan(a) && std::isnan(b))));
    }
  }
}

TEST_CASE(
    "bounds: the figure has four panels with labeled curves, and an axis that ends at 1e-20") {
  const Result result = run_study(tiny);
  REQUIRE(result.figure.panels.size() == 4);
  REQUIRE(result.more_figures.size() == 2);
  CHECK(result.more_figures.front().panels.size() == 2);
  REQUIRE(result.more_figures.back().panels.size() == 1);
  const Panel& chosen = result.more_figures.back().panels.front();
  REQUIRE(chosen.curves.size() == 4);
  CHECK(chosen.curves[0].label == "largest lambda_k, softmax attention");
  CHECK(chosen.curves[3].label == "one lambda for all layers, selective SSM");
  for (const Figure* figure :
       {&result.figure, &result.more_figures.front(), &result.more_figures.back()}) {
    CHECK(figure->columns == 0);
    for (const Panel& panel : figure->panels) {
      CAPTURE(panel.title);
      CHECK(panel.curves.size() <= 6);
      for (const Curve& curve : panel.curves) CHECK(!curve.label.empty());
    }
  }
  const Panel &skips = result.figure.panels[0], &without = result.figure.panels[1];
  CHECK(skips.curves[0].label == "softmax attention");
  CHECK(skips.curves[4].label == "our bound for softmax attention");
  CHECK(skips.curves[5].label == "bound as printed for softmax attention");
  CHECK(without.y.scale == Scale::log10);
  CHECK(without.y.floor == doctest::Approx(-20).epsilon(tolerance::closed_form<double>));
}

TEST_CASE("bounds: refused values are reported with the name of their flag") {
  CHECK(usage_error({{"a", "0.5,1"}}).find("--a 1 is not allowed") == 0);
  CHECK(usage_error({{"a", "0"}}).find("--a") == 0);
  CHECK(usage_error({{"tokens", "1"}}).find("--tokens") == 0);
  CHECK(usage_error({{"model", "bert"}}).find("--model") == 0);
  CHECK(usage_error({{"lambda", "1e13"}}).find("--lambda") == 0);
  CHECK(usage_error({}).empty());
}

TEST_CASE("bounds: the estimate grows with the sizes, and defaults are resolved per model") {
  const Estimate small = configured(make_bounds_study(), tiny)->memory(),
                 large =
                     configured(make_bounds_study(), with(tiny, {{"tokens", "12"}, {"dim", "8"}}))
                         ->memory();
  CHECK(large.bytes > small.bytes);
  const auto study = configured(make_bounds_study(), tiny);
  CHECK(find_field(*study, "share-weights").value_text() == "off");
  CHECK(find_field(*study, "input").value_text() == "gaussian");
  CHECK(find_field(*study, "state").value_text() == "64");
  CHECK_THROWS_AS(find_field(*study, "norm"), UsageError);
}

}  // namespace bounds_test
