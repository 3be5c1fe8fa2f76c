// Verdicts from records that are made up or spoilt: a false number must not pass.
#include "experiments/random_features/stable_rank/claims.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "core/tolerances.hpp"
#include "experiments/random_features/stable_rank/trial.hpp"
#include "experiments/random_features/stable_rank_tiny.hpp"

using namespace ranklab;

namespace {

const Claim& claim(const std::vector<Claim>& claims, const std::string& id) {
  const auto found = std::find_if(claims.begin(), claims.end(), [&](const Claim& c) { return c.id == id; });
  REQUIRE_MESSAGE(found != claims.end(), "claim " << id << " is missing");
  return *found;
}

doctest::Approx close(double expected) {
  return doctest::Approx(expected).epsilon(tolerance::closed_form<double>);
}

TrialRecord measure(const StableRankConfig& config) {
  Trial trial(11, 0, 0);
  return stable_rank_trial(config, false, trial);
}

}  // namespace

TEST_CASE("gelu's misprint shows only where a variance exceeds one") {
  StableRankConfig config = tiny();
  config.activation = {"gelu"};
  config.variances = {0.3, 0.9, 1.0};
  CHECK(claim(table_claims(config), "spectral/fig-12/gelu/as-printed").verdict == Verdict::holds);
  config.variances = {1.1};
  CHECK(claim(table_claims(config), "spectral/fig-12/gelu/as-printed").verdict == Verdict::fails);
  CHECK(claim(table_claims(config), "spectral/fig-12/gelu/corrected").verdict == Verdict::holds);
}

TEST_CASE("a false table fails") {
  const Activation& relu = find_activation("relu");
  PrintedMoments wrong = *printed_moments("relu");
  wrong.beta = 0.499;
  CHECK(moment_claim("x", relu, wrong, SStar::deviation, {1.0, 2.0}).verdict == Verdict::fails);
  wrong = *printed_moments("relu");
  wrong.alpha = [](double) { return 0.16; };
  CHECK(moment_claim("x", relu, wrong, SStar::deviation, {1.0, 2.0}).verdict == Verdict::fails);
  wrong.nsr_bound = [](double) { return 3.14; };
  CHECK(nsr_claim("x", relu, wrong, SStar::deviation, {1.0}).verdict == Verdict::fails);
}

TEST_CASE("stable ranks above the bounds fail, unless the theorem promises nothing") {
  StableRankConfig config = tiny();
  config.activation = {"relu"};
  config.n = 1000;  // n eps^2 = 10
  TrialRecord record = measure(config);
  CHECK(claim(one_layer_claims(config, {record}), "spectral/thm-2.6/relu/dense").verdict == Verdict::holds);
  CHECK(claim(random_layer_claims(config, {record}), "spectral/thm-2.7/relu").verdict == Verdict::holds);
  record.set("relu.stable_rank", 4.27);  // bound 1.1/0.81 pi = 4.266
  record.set("relu.depth.stable_rank", {3.0, 4.27, 3.0});
  CHECK(claim(one_layer_claims(config, {record}), "spectral/thm-2.6/relu/dense").verdict == Verdict::fails);
  CHECK(claim(one_layer_claims(config, {record}), "spectral/thm-2.6/relu/low-rank").verdict == Verdict::holds);
  CHECK(claim(random_layer_claims(config, {record}), "spectral/thm-2.7/relu").verdict == Verdict::fails);
  CHECK(claim(random_layer_claims(config, {record}), "spectral/thm-2.7/relu").measured == 1.0);
  config.n = 100;  // 4 exp(-1) > 1
  CHECK(claim(one_layer_claims(config, {record}), "spectral/thm-2.6/relu/dense").verdict == Verdict::not_applicable);
}

TEST_CASE("Theorem 2.8: numbers, verdicts") {
  CHECK(quadratic_bound(1, 0.25) == close(354294.0));                             // 27 * 3^8 * 2
  CHECK(quadratic_samples(1, 0.25) == close(9.0 * 81.0 * std::log(2.0) / 32.0));  // 15.8
  CHECK(std::isinf(quadratic_bound(9, 0.25)));
  StableRankConfig config = tiny();
  config.depth = 1;
  TrialRecord record;
  record.set("quadratic.depth.stable_rank", 4e5);
  CHECK(claim(quadratic_claims(config, {record}), "spectral/thm-2.8/layer-1").verdict == Verdict::fails);
  config.k = config.n = 1000000;  // large enough for the bound to say something: then a statement about probability
  CHECK(claim(quadratic_claims(config, {record, record}), "spectral/thm-2.8/layer-1").verdict == Verdict::fails);
  TrialRecord small;
  small.set("quadratic.depth.stable_rank", 3.0);
  CHECK(claim(quadratic_claims(config, {small, small}), "spectral/thm-2.8/layer-1").verdict == Verdict::holds);
  config.n = 15;
  CHECK(claim(quadratic_claims(config, {record}), "spectral/thm-2.8/layer-1").verdict == Verdict::not_applicable);
}

TEST_CASE("token claims notice false numbers") {
  const StableRankConfig config = tiny();
  const TrialRecord good = measure(config);
  TrialRecord bad = good;
  bad.set("token_indicator.stable_rank", good.scalar("token_indicator.stable_rank") * (1.0 + 1e-8));
  CHECK(claim(token_claims(config, {bad}), "spectral/eq-2.15").verdict == Verdict::fails);
  bad.set("embedding_rms.stable_rank", good.scalar("token_indicator.inverse_p_max") * 1.01);
  CHECK(claim(token_claims(config, {good, bad}), "spectral/lemma-2.9/rms-normalised").verdict == Verdict::fails);
  bad.set("embedding.norm_deviation", 0.5);
  bad.set("embedding.stable_rank", good.scalar("token_indicator.inverse_p_max") * 3.01);
  CHECK(claim(token_claims(config, {bad}), "spectral/lemma-2.9").verdict == Verdict::fails);
  bad.set("embedding.norm_deviation", 1.0);
  CHECK(claim(token_claims(config, {bad}), "spectral/lemma-2.9").verdict == Verdict::not_applicable);

  StableRankConfig paper = config;
  paper.vocabulary = 50257;
  CHECK(claim(token_claims(paper, {good}), "spectral/eq-2.15/zipf").verdict == Verdict::holds);
  // Integral bounds of the sum of j^(-s), within one term of each other.
  const double integral = (std::pow(50257.0, 0.14) - 1.0) / 0.14;
  CHECK(claim(token_claims(paper, {good}), "spectral/eq-2.15/zipf").measured > integral);
  CHECK(claim(token_claims(paper, {good}), "spectral/eq-2.15/zipf").measured < integral + 1.0);
}
