// Verdicts on invented or altered records: a wrong number must not pass.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "core/tolerances.hpp"
#include "experiments/random_features/stable_rank/stable_rank.hpp"
#include "experiments/random_features/stable_rank_tiny.hpp"
#include "experiments/result_parts.hpp"

namespace stable_rank_claims_test {

using namespace ranklab;
using namespace ranklab::stable_ranks;

namespace {

Claim claim(const std::string& id, const std::function<void(Claims&)>& judge) {
  Claims claims;
  judge(claims);
  Result result;
  result.claims = claims.take();
  return find_claim(result, id);
}

Verdict table_verdict(const StableRankConfig& config, const std::string& id) {
  return claim(id, [&](Claims& claims) { judge_table(config, claims); }).verdict;
}

Claim one_layer(const StableRankConfig& config, const Records& records, const std::string& id) {
  return claim(id, [&](Claims& claims) { judge_one_layer(Plan(config), records, claims); });
}

Claim random_layers(const StableRankConfig& config, const Records& records, const std::string& id) {
  return claim(id, [&](Claims& claims) { judge_random_layers(Plan(config), records, claims); });
}

Verdict quadratic_verdict(const StableRankConfig& config, const Records& records) {
  return claim("spectral/thm-2.8/layer-1",
               [&](Claims& claims) { judge_quadratic(Plan(config), records, claims); })
      .verdict;
}

Claim token_claim(const StableRankConfig& config, const Records& records, const std::string& id) {
  return claim(id, [&](Claims& claims) { judge_tokens(config, records, claims); });
}

doctest::Approx close(double expected) {
  return doctest::Approx(expected).epsilon(tolerance::closed_form<double>);
}

TrialRecord measure(const StableRankConfig& config) {
  return run_trial(Plan(config), Trial(11, 0, 0));
}

}  // namespace

TEST_CASE("gelu's misprint is only detected if a variance exceeds one") {
  StableRankConfig config = tiny();
  config.activation = {"gelu"};
  config.variances = {0.3, 0.9, 1.0};
  CHECK(table_verdict(config, "spectral/fig-12/gelu/as-printed") == Verdict::holds);
  config.variances = {1.1};
  CHECK(table_verdict(config, "spectral/fig-12/gelu/as-printed") == Verdict::fails);
  CHECK(table_verdict(config, "spectral/fig-12/gelu/corrected") == Verdict::holds);
}

TEST_CASE("a wrong table fails") {
  const Activation& relu = find_activation("relu");
  const auto verdict = [&](const std::string& id, const PrintedMoments& printed) {
    return claim("spectral/fig-12/" + id,
                 [&](Claims& claims) {
                   judge_row("x", relu, printed, {1.0, 2.0}, claims);
                 })
        .verdict;
  };
  PrintedMoments wrong = *printed_moments("relu");
  CHECK(verdict("x", wrong) == Verdict::holds);
  CHECK(verdict("x/nsr", wrong) == Verdict::holds);
  wrong.beta = 0.499;
  CHECK(verdict("x", wrong) == Verdict::fails);
  CHECK(verdict("x/nsr", wrong) == Verdict::holds);
  wrong = *printed_moments("relu");
  wrong.alpha = [](double) { return 0.16; };
  CHECK(verdict("x", wrong) == Verdict::fails);
  wrong.nsr_bound = [](double) { return 3.14; };
  CHECK(verdict("x/nsr", wrong) == Verdict::fails);
}

TEST_CASE("stable ranks above the bounds fail, unless the theorem's guarantee is vacuous") {
  StableRankConfig config = tiny();
  config.activation = {"relu"};
  config.n = 1000;  // n eps^2 = 10
  TrialRecord record = measure(config);
  config.k = 1000;  // the rows of W_l act as the samples of Theorem 2.7
  CHECK(one_layer(config, {record}, "spectral/thm-2.6/relu/dense").verdict == Verdict::holds);
  CHECK(random_layers(config, {record}, "spectral/thm-2.7/relu").verdict == Verdict::holds);
  record.set("relu.stable_rank", 4.27);  // bound 1.1/0.81 pi = 4.266
  record.set("relu.depth.stable_rank", {3.0, 4.27, 3.0});
  CHECK(one_layer(config, {record}, "spectral/thm-2.6/relu/dense").verdict == Verdict::fails);
  CHECK(one_layer(config, {record}, "spectral/thm-2.6/relu/low-rank").verdict == Verdict::holds);
  CHECK(random_layers(config, {record}, "spectral/thm-2.7/relu").verdict == Verdict::fails);
  CHECK(random_layers(config, {record}, "spectral/thm-2.7/relu").measured == 1.0);
  config.n = 100;  // 4 exp(-1) > 1
  CHECK(one_layer(config, {record}, "spectral/thm-2.6/relu/dense").verdict ==
        Verdict::not_applicable);
  CHECK(random_layers(config, {record}, "spectral/thm-2.7/relu").verdict == Verdict::fails);
  config.k = 100;
  CHECK(random_layers(config, {record}, "spectral/thm-2.7/relu").verdict ==
        Verdict::not_applicable);
}

TEST_CASE("the bounds with an open constant are asymptotic: never an error of the paper") {
  StableRankConfig config = tiny();
  config.activation = {"relu"};
  const TrialRecord record = measure(config);
  for (const Claim& claim : {one_layer(config, {record}, "spectral/thm-2.6/relu/dense"),
                             random_layers(config, {record}, "spectral/thm-2.7/relu")}) {
    CHECK(claim.kind == Kind::asymptotic);
    CHECK(claim.threshold == "eps1 = eps2 = 0.1; the paper leaves c1 open");
  }
}

TEST_CASE("Theorem 2.7 fails with n in the exponent and holds with the rows of W_l") {
  // The matrix with the smallest stable rank among those that the probability is about.
  arma::mat W(4, 4, arma::fill::value(-0.3));
  W(2, 0) = 1.157;
  W(0, 1) = W(1, 2) = W(3, 3) = 1.0;
  const double bound = 1.01 / (0.99 * 0.99) * 3.14159265358979324;
  for (const arma::uword copies : {1u, 4u, 16u}) {
    const arma::mat A = arma::repmat(arma::mat(4, 4, arma::fill::eye), 1, copies);
    const arma::vec s = arma::svd(arma::clamp(arma::mat(W * A), 0.0, 10.0));
    CHECK(arma::dot(s, s) / (s(0) * s(0)) == close(1.0 + 3.0 / (1.157 * 1.157)));
    CHECK(arma::dot(s, s) / (s(0) * s(0)) > bound);
  }
  // P(1 < g < 1.157) by the midpoint rule; 4! permutations, 12 entries off each are negative.
  double inside = 0.0;
  constexpr int cells = 100000;
  constexpr double cell = 0.157 / cells;
  for (int i = 0; i < cells; ++i) inside += std::exp(-0.5 * std::pow(1.0 + (i + 0.5) * cell, 2));
  inside *= cell / std::sqrt(2.0 * 3.14159265358979324);
  const double fails = 24.0 / 4096.0 * std::pow(inside, 4);
  CHECK(failure_of_copies() == doctest::Approx(fails).epsilon(1e-8));

  const auto evidence = [](const Claim& claim) { return std::get<CountEvidence>(claim.evidence); };
  const Claim printed = claim("spectral/thm-2.7/exponent/as-printed", judge_exponent),
              corrected = claim("spectral/thm-2.7/exponent/corrected", judge_exponent);
  CHECK(printed.verdict == Verdict::fails);
  CHECK(printed.slip == "spectral/thm-2.7/exponent");
  CHECK(evidence(printed).violations == 3.0);
  // n c 1e-4 = 4 * 60000 * 1e-4 = 24
  CHECK(evidence(printed).worst == doctest::Approx(fails / (4.0 * std::exp(-24.0))).epsilon(1e-8));
  CHECK(corrected.verdict == Verdict::holds);
  CHECK(corrected.misprint_of == printed.id);
  CHECK(evidence(corrected).cases == 3.0);
  CHECK(evidence(corrected).worst ==
        doctest::Approx(fails / (4.0 * std::exp(-4e-4))).epsilon(1e-8));
}

TEST_CASE("each row of Figure 12 belongs to the table, its last column to Lemma 2.4") {
  const auto judged = [](const std::string& id) {
    StableRankConfig config = tiny();
    return claim("spectral/fig-12/" + id, [&](Claims& claims) { judge_table(config, claims); });
  };
  CHECK(judged("relu").statement_id == "spectral/fig-12");
  CHECK(judged("relu").kind == Kind::printed_number);
  CHECK(judged("relu/nsr").statement_id == "spectral/lemma-2.4");
  CHECK(judged("relu/nsr").kind == Kind::theorem);
  CHECK(judged("gelu/as-printed").part == Part::caption);
  CHECK(judged("gelu/as-printed").slip == "spectral/fig-12/gelu-s");
  // With the printed s_* the last column is not violated, because beta = 1 leaves room.
  CHECK(judged("gelu/nsr/as-printed").slip.empty());
  CHECK(judged("gelu/nsr/as-printed").statement_id == "spectral/fig-12");
}

TEST_CASE("Theorem 2.8: the bound, the required samples and the verdicts") {
  CHECK(quadratic_bound(1, 0.25) == close(354294.0));                             // 27 * 3^8 * 2
  CHECK(quadratic_samples(1, 0.25) == close(9.0 * 81.0 * std::log(2.0) / 32.0));  // 15.8
  CHECK(std::isinf(quadratic_bound(9, 0.25)));
  StableRankConfig config = tiny();
  config.depth = 1;
  TrialRecord record;
  record.set("quadratic.depth.stable_rank", 4e5);
  CHECK(quadratic_verdict(config, {record}) == Verdict::fails);
  config.k = config.n = 1000000;  // large enough for the bound not to be vacuous
  CHECK(quadratic_verdict(config, {record, record, record}) == Verdict::fails);
  TrialRecord small;
  small.set("quadratic.depth.stable_rank", 3.0);
  CHECK(quadratic_verdict(config, {small, small, small}) == Verdict::holds);
  config.n = 15;
  CHECK(quadratic_verdict(config, {record}) == Verdict::not_applicable);
}

TEST_CASE("token claims fail if a number is wrong") {
  const StableRankConfig config = tiny();
  const TrialRecord good = measure(config);
  TrialRecord bad = good;
  bad.set("token_indicator.stable_rank", good.scalar("token_indicator.stable_rank") * (1.0 + 1e-8));
  CHECK(token_claim(config, {bad}, "spectral/eq-2.15").verdict == Verdict::fails);
  bad.set("embedding_rms.stable_rank", good.scalar("token_indicator.inverse_p_max") * 1.01);
  CHECK(token_claim(config, {good, bad}, "spectral/lemma-2.9/rms-normalised").verdict ==
        Verdict::fails);
  bad.set("embedding.norm_deviation", 0.5);
  bad.set("embedding.stable_rank", good.scalar("token_indicator.inverse_p_max") * 3.01);
  CHECK(token_claim(config, {bad}, "spectral/lemma-2.9").verdict == Verdict::fails);
  bad.set("embedding.norm_deviation", 1.0);
  CHECK(token_claim(config, {bad}, "spectral/lemma-2.9").verdict == Verdict::not_applicable);

  StableRankConfig paper = config;
  paper.vocabulary = 50257;
  CHECK(token_claim(paper, {good}, "spectral/eq-2.15/zipf").verdict == Verdict::holds);
  // The integral bounds the sum of j^(-s) to within one term.
  const double integral = (std::pow(50257.0, 0.14) - 1.0) / 0.14;
  CHECK(token_claim(paper, {good}, "spectral/eq-2.15/zipf").measured > integral);
  CHECK(token_claim(paper, {good}, "spectral/eq-2.15/zipf").measured < integral + 1.0);
}

}  // namespace stable_rank_claims_test
