// Verdicts on invented or altered records: a wrong number must not pass.
#include <doctest/doctest.h>
#include <armadillo>

#include <cmath>

#include "core/tolerances.hpp"
#include "experiments/random_features/stable_rank_tiny.hpp"
#include "experiments/result_parts.hpp"

namespace stable_rank_claims_test {

using namespace ranklab;
using namespace ranklab::stable_ranks;

namespace {

Claim judged(const Config& config, const Records& records, const std::string& id) {
  return find_claim(config.report(records), id);
}

Verdict verdict(const Config& config, const Records& records, const std::string& id) {
  return judged(config, records, id).verdict;
}

doctest::Approx close(double expected) {
  return doctest::Approx(expected).epsilon(tolerance::closed_form<double>);
}

}  // namespace

TEST_CASE("gelu's misprint is only detected if a variance exceeds one") {
  Config config = tiny();
  config.activation = {"gelu"};
  const TrialRecord record = measure(config);
  config.variances = {0.3, 0.9, 1.0};
  CHECK(verdict(config, Records(3, record), "spectral/fig-12/gelu/as-printed") == Verdict::holds);
  config.variances = {1.1};
  CHECK(verdict(config, Records(3, record), "spectral/fig-12/gelu/as-printed") == Verdict::fails);
  CHECK(verdict(config, Records(3, record), "spectral/fig-12/gelu/corrected") == Verdict::holds);
}

TEST_CASE("a wrong table fails") {
  const Activation& relu = find_activation("relu");
  const auto row = [&](const std::string& id, const PrintedMoments& printed) {
    Claims claims;
    judge_row("x", relu, printed, {1.0, 2.0}, claims);
    Result result;
    result.claims = claims.take();
    return find_claim(result, "spectral/fig-12/" + id).verdict;
  };
  PrintedMoments wrong = *printed_moments("relu");
  CHECK(row("x", wrong) == Verdict::holds);
  CHECK(row("x/nsr", wrong) == Verdict::holds);
  wrong.beta = 0.499;
  CHECK(row("x", wrong) == Verdict::fails);
  CHECK(row("x/nsr", wrong) == Verdict::holds);
  wrong = *printed_moments("relu");
  wrong.alpha = [](double) { return 0.16; };
  CHECK(row("x", wrong) == Verdict::fails);
  wrong.nsr_bound = [](double) { return 3.14; };
  CHECK(row("x/nsr", wrong) == Verdict::fails);
}

TEST_CASE("stable ranks above the bounds fail, unless the theorem's guarantee is vacuous") {
  Config config = tiny();
  config.activation = {"relu"};
  config.n = 1000;  // n eps^2 = 10
  TrialRecord record = measure(config);
  config.k = 1000;  // the rows of W_l act as the samples of Theorem 2.7
  CHECK(verdict(config, Records(3, record), "spectral/thm-2.6/relu/dense") == Verdict::holds);
  CHECK(verdict(config, Records(3, record), "spectral/thm-2.7/relu") == Verdict::holds);
  record.set("relu.stable_rank", 4.27);  // bound 1.1/0.81 pi = 4.266
  record.set("relu.depth.stable_rank", {3.0, 4.27, 3.0});
  CHECK(verdict(config, Records(3, record), "spectral/thm-2.6/relu/dense") == Verdict::fails);
  CHECK(verdict(config, Records(3, record), "spectral/thm-2.6/relu/low-rank") == Verdict::holds);
  CHECK(verdict(config, Records(3, record), "spectral/thm-2.7/relu") == Verdict::fails);
  CHECK(judged(config, {record}, "spectral/thm-2.7/relu").measured == 1.0);
  config.n = 100;  // 4 exp(-1) > 1
  CHECK(verdict(config, Records(3, record), "spectral/thm-2.6/relu/dense") ==
        Verdict::not_applicable);
  CHECK(verdict(config, Records(3, record), "spectral/thm-2.7/relu") == Verdict::fails);
  config.k = 100;
  CHECK(verdict(config, Records(3, record), "spectral/thm-2.7/relu") == Verdict::not_applicable);
}

TEST_CASE("the bounds with an open constant are asymptotic: never an error of the paper") {
  Config config = tiny();
  config.activation = {"relu"};
  const TrialRecord record = measure(config);
  for (const Claim& claim : {judged(config, {record}, "spectral/thm-2.6/relu/dense"),
                             judged(config, {record}, "spectral/thm-2.7/relu")}) {
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
  const Result result = tiny().report({measure(tiny())});
  const Claim printed = find_claim(result, "spectral/thm-2.7/exponent/as-printed"),
              corrected = find_claim(result, "spectral/thm-2.7/exponent/corrected");
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
  const Result result = tiny().report({measure(tiny())});
  const auto judged = [&](const std::string& id) {
    return find_claim(result, "spectral/fig-12/" + id);
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
  Config config = tiny();
  config.depth = 1;
  TrialRecord record = measure(config), small = record;
  small.set("quadratic.depth.stable_rank", 3.0);
  record.set("quadratic.depth.stable_rank", 4e5);
  const auto quadratic = [&](const Records& records) {
    return verdict(config, records, "spectral/thm-2.8/layer-1");
  };
  CHECK(quadratic({record}) == Verdict::fails);
  config.k = config.n = 1000000;  // large enough for the bound not to be vacuous
  CHECK(quadratic({record, record, record}) == Verdict::fails);
  CHECK(quadratic({small, small, small}) == Verdict::holds);
  config.n = 15;
  CHECK(quadratic({record}) == Verdict::not_applicable);
}

TEST_CASE("token claims fail if a number is wrong") {
  const Config config = tiny();
  const TrialRecord good = measure(config);
  TrialRecord bad = good;
  bad.set("token_indicator.stable_rank", good.scalar("token_indicator.stable_rank") * (1.0 + 1e-8));
  CHECK(verdict(config, {bad}, "spectral/eq-2.15") == Verdict::fails);
  bad.set("embedding_rms.stable_rank", good.scalar("token_indicator.inverse_p_max") * 1.01);
  CHECK(verdict(config, {good, bad}, "spectral/lemma-2.9/rms-normalised") == Verdict::fails);
  bad.set("embedding.norm_deviation", 0.5);
  bad.set("embedding.stable_rank", good.scalar("token_indicator.inverse_p_max") * 3.01);
  CHECK(verdict(config, {bad}, "spectral/lemma-2.9") == Verdict::fails);
  bad.set("embedding.norm_deviation", 1.0);
  CHECK(verdict(config, {bad}, "spectral/lemma-2.9") == Verdict::not_applicable);

  Config paper = config;
  paper.vocabulary = 50257;
  CHECK(verdict(paper, {good}, "spectral/eq-2.15/zipf") == Verdict::holds);
  // The integral bounds the sum of j^(-s) to within one term.
  const double integral = (std::pow(50257.0, 0.14) - 1.0) / 0.14;
  CHECK(judged(paper, {good}, "spectral/eq-2.15/zipf").measured > integral);
  CHECK(judged(paper, {good}, "spectral/eq-2.15/zipf").measured < integral + 1.0);
}

}  // namespace stable_rank_claims_test
