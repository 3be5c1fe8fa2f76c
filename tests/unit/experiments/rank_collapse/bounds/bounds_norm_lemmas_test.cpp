// Lemmas A.1, A.5 and A.6 on matrices worked out by hand, and against loops.
#include "experiments/rank_collapse/bounds/attention.hpp"
#include "experiments/rank_collapse/bounds/state_space.hpp"
#include "experiments/rank_collapse/bounds/with_skip.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "core/tolerances.hpp"
#include "experiments/rank_collapse/stacked_model.hpp"
#include "gaussian.hpp"

namespace bounds_norm_lemmas_test {

using namespace ranklab;
using namespace ranklab::bounds;

namespace {

doctest::Approx nearly(double value) {
  return doctest::Approx(value).scale(0).epsilon(tolerance::residual<double>);
}

// The tally of a statement after `judge(record)`.
template <class Judge>
Tally judged(const std::string& id, const Judge& judge) {
  TrialRecord record;
  judge(record);
  return record.tally(id);
}
template <class Judge>
Tally judged(const Statement& statement, const Judge& judge) {
  return judged(statement.id, judge);
}

}  // namespace

TEST_CASE("bounds: Lemma A.1 on small matrices: wide, square and tall B") {
  const auto tally = [](const Statement& statement, const arma::mat& A, const arma::mat& B) {
    return judged(statement, [&](TrialRecord& record) { judge_product(A, B, 1e-12, record); });
  };
  const arma::mat row = {{3, 4}}, wide = {{2, 0, 0}, {0, 1, 0}}, square = {{2, 0}, {0, 1}};
  const arma::vec tall = {1, 1};
  for (const Statement& statement : {lemma_A_1.as_printed, lemma_A_1.corrected}) {
    // ||AB|| = sqrt(36 + 16), sigma_min(B) = 1, ||A|| = 5.
    CHECK(tally(statement, row, wide).smallest == nearly(std::sqrt(52) / 5));
    CHECK(tally(statement, row, wide).violations == 0);
    // The second left singular vector of B attains the bound.
    CHECK(tally(statement, arma::mat{{0, 7}}, square).smallest == nearly(1));
    CHECK(tally(statement, arma::mat{{0, 7}}, square).violations == 0);
  }
  // ||AB|| = 7, sigma_min(B) = sqrt 2 and ||A|| = 5: no violation. For A = (4, -3), ||AB|| = 1.
  CHECK(tally(lemma_A_1.as_printed, row, tall).smallest == nearly(7 / (5 * std::sqrt(2))));
  CHECK(tally(lemma_A_1.as_printed, row, tall).violations == 1);
  CHECK(tally(lemma_A_1.as_printed, arma::mat{{1, 1}}, tall).violations == 0);
  CHECK(tally(lemma_A_1.corrected, row, tall).violations == 0);
  CHECK(tally(lemma_A_1.corrected, arma::mat{{1, -1}}, tall).violations == 0);
}

TEST_CASE("bounds: the rows that Lemma A.1 is judged on include the one that attains it") {
  TrialRecord record;
  judge_products({4, 6}, Trial(1, 0, 0), record);
  const Tally printed = record.tally(lemma_A_1.as_printed.id),
              corrected = record.tally(lemma_A_1.corrected.id);
  CHECK(printed.cases == 6);  // p = 3, 6, 12, each with a Gaussian A and the worst row
  CHECK(printed.violations >= 1);
  CHECK(corrected.cases == 6);
  CHECK(corrected.violations == 0);
  CHECK(corrected.smallest == doctest::Approx(1).scale(0).epsilon(1e-8));
}

TEST_CASE("bounds: no Gaussian row comes below the root of the smallest eigenvalue of BB'") {
  for (const arma::uword p : {3U, 5U, 9U}) {
    const arma::mat B = gaussian(5, p, ("lemma.B." + std::to_string(p)).c_str());
    const double least = p < 5 ? 0 : std::sqrt(arma::eig_sym(arma::mat(B * B.t())).min());
    TrialRecord record;
    double smallest = 1e9;
    for (int draw = 0; draw < 50; ++draw) {
      const arma::mat A = gaussian(1, 5, ("lemma.A." + std::to_string(draw)).c_str());
      judge_product(A, B, 0, record);
      if (p >= 5)
        smallest = std::min(smallest, arma::norm(arma::mat(A * B)) / (least * arma::norm(A)));
    }
    CHECK(record.tally(lemma_A_1.corrected.id).violations == 0);
    if (p >= 5) CHECK(record.tally(lemma_A_1.corrected.id).smallest == nearly(smallest));
  }
}

TEST_CASE("bounds: Lemma A.5 for two tokens 60 degrees apart") {
  const double half = 0.5, root = std::sqrt(3) / 2;
  const arma::mat Y = {{1, half}, {0, root}};
  const auto count = [&](const arma::mat& S, const Statement& statement) {
    // y_i'S y_j for i >= j, in loops.
    arma::mat M(2, 2, arma::fill::zeros);
    for (arma::uword i = 0; i < 2; ++i) {
      for (arma::uword j = 0; j <= i; ++j) M(i, j) = arma::dot(Y.col(i), S * Y.col(j));
    }
    return judged(statement, [&](TrialRecord& record) { judge_scales(Y, M, S, 1e-12, record); });
  };
  // M_21 = 1/2 + 4 sqrt(3)/2 = 3.964, so row 2 of M Y is (4.464, 0.866).
  const arma::mat skewed = {{1, -4}, {4, 1}};
  const double D = 1 / std::hypot(0.5 + 4 * root + half, root);
  CHECK(D == doctest::Approx(0.2199).scale(0).epsilon(1e-4));
  CHECK(count(skewed, lemma_A_5.as_printed).cases == 2);
  CHECK(count(skewed, lemma_A_5.as_printed).violations == 1);
  CHECK(count(skewed, lemma_A_5.as_printed).smallest == nearly(D * std::pow(2, 1.5)));
  CHECK(count(skewed, lemma_A_5.corrected).violations == 0);
  CHECK(count(skewed, lemma_A_5.corrected).smallest == nearly(D * 2 * std::sqrt(17)));
  // S = I: row 2 of M Y is y_1/2 + y_2 = (1, 0.866).
  CHECK(count(arma::mat(2, 2, arma::fill::eye), lemma_A_5.as_printed).violations == 0);
  CHECK(count(arma::mat(2, 2, arma::fill::eye), lemma_A_5.as_printed).smallest ==
        nearly(std::pow(2, 1.5) / std::hypot(1, root)));
  // Without a positive eigenvalue the printed bound means nothing; a zero row has no D.
  CHECK(count(arma::mat{{-1, 0}, {0, -1}}, lemma_A_5.as_printed).cases == 0);
  CHECK(count(arma::mat{{-1, 0}, {0, -1}}, lemma_A_5.corrected).cases == 2);
  CHECK(count(arma::mat{{0, -4}, {4, 0}}, lemma_A_5.corrected).cases == 1);
}

TEST_CASE("bounds: the skewed stacks have the weights and the mixing matrix of the lemma") {
  Config config;
  config.spec.layers = 1;
  config.spec.decay = 0.8;
  const Trial trial(3, 0, 0);
  TrialRecord record;
  judge_skewed(config, {5, 3}, trial, record);
  ModelSpec spec = stack_spec(config, "selective-ssm", {5, 3}, "rows");
  const arma::mat Y = draw_input<double>(spec, trial).Y;
  arma::mat G(3, 3);
  Stream stream = trial.stream("lemma-A.5.S.3x3");
  stream.fill_normal({G.memptr(), 9}, 1 / std::sqrt(3));
  double least = 1e9, least_printed = 1e9;
  for (const double skew : {0.0, 0.5, 5.0}) {
    const arma::mat S = arma::mat(3, 3, arma::fill::eye) + skew * (G - G.t());
    for (arma::uword i = 0; i < 5; ++i) {
      arma::vec row(3, arma::fill::zeros);
      for (arma::uword j = 0; j <= i; ++j)
        row += std::pow(0.8, i - j) * arma::dot(Y.col(i), S * Y.col(j)) * Y.col(j);
      const double D = 1 / arma::norm(row);
      least = std::min(least, D * 5 * arma::norm(S, 2));
      least_printed = std::min(least_printed, D * std::pow(5, 1.5));  // lambda_max = 1
    }
  }
  CHECK(record.tally(lemma_A_5.corrected.id).cases == 15);
  CHECK(record.tally(lemma_A_5.corrected.id).smallest == nearly(least));
  CHECK(record.tally(lemma_A_5.as_printed.id).smallest == nearly(least_printed));
}

TEST_CASE("bounds: Lemma A.6, the step of Theorem A.8 and the size of W, on numbers by hand") {
  const auto count = [](const LtiLogs& logs, const auto& statement) {
    return judged(statement, [&](TrialRecord& record) {
      judge_growth(logs, 1e-12, record);
      judge_step_A_8(logs, 1e-12, record);
      count_large_norm(logs, record);
    });
  };
  LtiLogs logs;
  logs.N = 4;
  logs.k = 2;
  logs.start = std::log(5);
  logs.spectral = std::log(9);    // two layers of norm 3
  logs.frobenius = std::log(16);  // and of Frobenius norm 4
  logs.norm = std::log(40);
  CHECK(count(logs, lemma_A_6).violations == 0);  // 40 <= 9 * 5 = 45
  CHECK(count(logs, lemma_A_6).smallest == nearly(45.0 / 40));
  CHECK(count(logs, step_A_8.as_printed).violations == 0);  // 2 * 40 = 80 = 16 * 5
  CHECK(count(logs, step_A_8.corrected).violations == 0);
  logs.norm = std::log(41);
  CHECK(count(logs, step_A_8.as_printed).violations == 1);
  CHECK(count(logs, step_A_8.corrected).violations == 0);
  logs.norm = std::log(46);
  CHECK(count(logs, step_A_8.corrected).violations == 1);
  CHECK(count(logs, lemma_A_6).violations == 1);
  // With ||W||_F = 1.5 in place of 4, mu is multiplied by (1.5/4)^2 = 0.1406.
  logs.mu_start = std::log(3);
  logs.mu = std::log(3 * 0.71);
  CHECK(count(logs, large_norm_vanishes).violations == 1);
  logs.mu = std::log(3 * 0.72);
  CHECK(count(logs, large_norm_vanishes).violations == 0);
  logs.mu = -infinity;
  CHECK(count(logs, large_norm_vanishes).cases == 0);
}

TEST_CASE("bounds: the powers of the worked example for Appendix A.13.1 vanish") {
  const arma::mat W = {{0.5, 0}, {2, 0.5}};
  arma::vec y = {1, 0};
  for (int k = 0; k < 32; ++k) y = W * y;
  CHECK(std::log(std::abs(y(1) - y(0)) / std::sqrt(2)) ==
        nearly(std::log(127.0) - std::log(2.0) / 2 - 32 * std::log(2.0)));
  CHECK(arma::norm(W, "fro") == nearly(std::sqrt(4.5)));
}

}  // namespace bounds_norm_lemmas_test
