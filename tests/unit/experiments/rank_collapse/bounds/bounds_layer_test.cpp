// The numbers of one layer against loops, and the judging functions on cases worked out by hand.
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "core/tolerances.hpp"
#include "experiments/rank_collapse/bounds/adversarial_inputs.hpp"
#include "experiments/rank_collapse/bounds/attention.hpp"
#include "experiments/rank_collapse/bounds/state_space.hpp"
#include "experiments/rank_collapse/bounds/with_skip.hpp"
#include "gaussian.hpp"
#include "nn/blocks/norms.hpp"

namespace bounds_layer_test {

using namespace ranklab;
using namespace ranklab::bounds;

namespace {

doctest::Approx nearly(double value) {
  return doctest::Approx(value).scale(0).epsilon(tolerance::residual<double>);
}

// A second formula for mu, without the mean token: mu^2 is N times half the mean squared distance
// of all pairs of tokens (columns).
double pair_spread(const arma::mat& Y) {
  double sum = 0;
  for (arma::uword i = 0; i < Y.n_cols; ++i) {
    for (arma::uword j = 0; j < Y.n_cols; ++j) sum += std::pow(arma::norm(Y.col(i) - Y.col(j)), 2);
  }
  return std::sqrt(sum / (2 * static_cast<double>(Y.n_cols)));
}

// A layer that satisfies every printed and corrected inequality with room to spare, at lambda = 2.
Layer still_layer() {
  Layer layer;
  layer.norms.N = 4;
  layer.norms.d = 2;
  layer.norms.S = std::sqrt(2.0);
  layer.norms.C_M = 0.25;
  layer.norms.tau = 0.25;
  layer.norms.row = 0.25;
  layer.lambda = 2;
  layer.mu = 1.5;
  layer.mu_mixed = 3;
  layer.mu_next = 1.5;
  layer.largest_row = 2;
  layer.row_spread = 0;
  return layer;
}

// The ids of the statements that this layer violates, without the parts of their counts.
std::vector<std::string> violated(const Layer& layer) {
  using namespace thm_4_1;
  TrialRecord record;
  judge_layer(layer, 0.0, record);
  for (const Statement& statement : {cross_term.as_printed, per_layer.as_printed}) {
    CHECK(record.tally(sign_tally(statement, layer.lambda)).violations ==
          record.tally(statement.id).violations);
  }
  std::vector<std::string> ids;
  for (const auto& [name, numbers] : record.arrays()) {
    const std::string id = name.substr(std::string("tally/").size());
    const bool part =
        id.ends_with("/positive") || id.ends_with("/negative") || id.ends_with("/informed");
    if (record.tally(id).violations > 0 && !part) ids.push_back(id);
  }
  return ids;
}

}  // namespace

TEST_CASE("bounds: the norms and spreads of a layer equal those of a second computation") {
  const arma::mat Y = gaussian(3, 5, "layer.Y"), M = gaussian(5, 5, "layer.M"),
                  C_V = gaussian(3, 3, "layer.V"), next = gaussian(3, 5, "layer.next");
  const double lambda = -0.6;
  const Layer layer = open_layer(Y, M, C_V, value_norms(C_V), lambda, next);
  arma::mat mixed(3, 5, arma::fill::zeros);
  for (arma::uword i = 0; i < 5; ++i) {
    for (arma::uword c = 0; c < 3; ++c) {
      mixed(c, i) = lambda * Y(c, i);
      for (arma::uword j = 0; j < 5; ++j) {
        for (arma::uword e = 0; e < 3; ++e) mixed(c, i) += M(i, j) * Y(e, j) * C_V(e, c);
      }
    }
  }
  double longest = 0, mean = 0, squares = 0, row = 0;
  for (arma::uword i = 0; i < 5; ++i) {
    longest = std::max(longest, arma::norm(mixed.col(i)));
    mean += arma::norm(mixed.col(i)) / 5;
    squares += arma::dot(mixed.col(i), mixed.col(i));
    row = std::max(row, arma::norm(M.row(i)));
  }
  const double sigma = std::sqrt(arma::eig_sym(arma::mat(C_V.t() * C_V)).max());
  CHECK(layer.norms.N == 5);
  CHECK(layer.norms.d == 3);
  CHECK(layer.norms.S == nearly(std::sqrt(arma::trace(C_V * C_V.t()))));
  CHECK(layer.norms.C_M == nearly(std::sqrt(arma::trace(M * M.t()))));
  CHECK(layer.norms.tau == nearly(sigma * std::sqrt(arma::eig_sym(arma::mat(M.t() * M)).max())));
  CHECK(layer.norms.row == nearly(sigma * row));
  CHECK(layer.mu == nearly(pair_spread(Y)));
  CHECK(layer.mu_mixed == nearly(pair_spread(mixed)));
  CHECK(layer.mu_next == nearly(pair_spread(next)));
  CHECK(layer.largest_row == nearly(longest));
  CHECK(layer.row_spread == nearly(std::sqrt(squares - 5 * mean * mean)));
}

TEST_CASE("bounds: each inequality of a layer is violated if its own number is wrong") {
  CHECK(violated(still_layer()).empty());
  using Names = std::vector<std::string>;
  const std::string at = "lambda-skip/thm-4.1/";
  Layer layer = still_layer();
  layer.mu_next = 2.01;
  CHECK(violated(layer) == Names{at + "cap"});
  layer = still_layer();
  layer.mu_next = 1.49;
  CHECK(violated(layer) ==
        Names{at + "step-row-normalisation/as-printed", at + "step-row-normalisation/corrected"});
  layer.row_spread = 0.1;
  CHECK(violated(layer) == Names{at + "step-row-normalisation/as-printed"});
  layer = still_layer();
  layer.largest_row = 2.4;  // S C_M + 2 = 2.354 and sqrt(N) row + 2 = 2.5
  CHECK(violated(layer) == Names{at + "step-largest-row/as-printed"});
  layer.largest_row = 2.6;
  CHECK(violated(layer) ==
        Names{at + "step-largest-row/as-printed", at + "step-largest-row/corrected"});
  layer = still_layer();
  layer.mu_mixed = 2.2;  // 9 - 2 * 2 * 4 * 0.25 = 5 and 9 - 2 * 2 * 4 * 2 * 0.354 < 0
  CHECK(violated(layer) == Names{at + "step-cross-term/corrected"});
  layer.lambda = -2;  // 9 + 11.3, and (9 + 11.3) / 2.354^2 > 1.5^2
  CHECK(violated(layer) == Names{at + "per-layer/as-printed", at + "step-cross-term/as-printed",
                                 at + "step-cross-term/corrected"});
  layer = still_layer();
  layer.mu_mixed = 2.5;
  layer.mu_next = 0.99;  // 1.5 - 2 * 2 * 0.25 / 2 = 1; (9 - 4) / 2.354^2 = 0.902 < 0.99^2
  layer.row_spread = 1;
  CHECK(violated(layer) ==
        Names{at + "per-layer/turning", at + "step-row-normalisation/as-printed"});
  layer.mu_next = 0.94;
  CHECK(violated(layer) == Names{at + "per-layer/corrected", at + "per-layer/turning",
                                 at + "step-row-normalisation/as-printed"});
}

TEST_CASE("bounds: the proof sketch, which omits S, is judged for lambda > 0 only") {
  using namespace thm_4_1;
  Layer layer = still_layer();
  const auto counted = [&](const Statement& statement) {
    TrialRecord record;
    judge_layer(layer, 0.0, record);
    return record.tally(statement.id);
  };
  // (9 - 2 * 2 * 4 * 2 * 0.25) / (0.3536 + 2)^2 = 0.1805; with S the numerator is negative.
  layer.mu_next = 0.43;
  CHECK(counted(per_layer_sketch.as_printed).violations == 0);
  CHECK(counted(per_layer_sketch.as_printed).smallest ==
        nearly(std::pow(0.43 * (std::sqrt(2.0) / 4 + 2), 2)));
  layer.mu_next = 0.42;
  CHECK(counted(per_layer_sketch.as_printed).violations == 1);
  CHECK(counted(per_layer_sketch.corrected).violations == 0);
  layer.lambda = -2;
  CHECK(counted(per_layer_sketch.as_printed).cases == 0);
  CHECK(counted(per_layer_sketch.corrected).cases == 0);
}

TEST_CASE("bounds: the threshold of eq. (7) is tested on both sides of it, at every rate") {
  TrialRecord record;
  judge_threshold(still_layer().norms, {0.01, 0.5, 0.9999}, record);
  CHECK(record.tally(thm_4_1::threshold.id).cases == 6);
  CHECK(record.tally(thm_4_1::threshold.id).violations == 0);
  TrialRecord none;
  judge_threshold({}, {0.5}, none);  // without mixing every lambda meets eq. (7)
  CHECK_FALSE(none.has_tally(thm_4_1::threshold.id));
}

TEST_CASE("bounds: Theorem 4.1 is judged only if its hypotheses hold") {
  using namespace thm_4_1;
  StackEnd end;
  end.norms = still_layer().norms;
  end.K = 2;
  end.mu_0 = 1.5;
  end.mu_K = 0.1;
  const auto judged = [&](double lambda, double a) {
    end.lambda = lambda;
    TrialRecord record;
    judge_stack(end, {a}, 0.0, record);
    return record;
  };
  // S C_M = 0.3536, so the threshold at a = 1/2 is 0.854.
  const TrialRecord below_threshold = judged(0.8, 0.5);
  CHECK(below_threshold.tally(meets_7).cases == 0);
  CHECK(below_threshold.tally(stack.as_printed.id).cases == 0);
  // b = 4 * 2 * 4 * 2 * 0.3536 / (1/2 lambda) = 45 / lambda is at most 2.25 if lambda is at least
  // about 20; the corrected 16 / lambda is if lambda is at least 7.
  CHECK(judged(10, 0.5).tally(stack.as_printed.id).cases == 0);
  CHECK(judged(10, 0.5).tally(stack.corrected.id).violations == 1);
  CHECK(judged(30, 0.5).tally(stack.as_printed.id).violations == 1);
  CHECK(judged(-10, 0.5).tally(sign_tally(stack.as_printed, -10)).violations == 1);
  // The bound is 1.5 - 2 * 2 * 2 * 0.25 / lambda.
  CHECK(judged(1.3, 0.5).tally(stack_turning.id).cases == 0);
  CHECK(judged(1.42, 0.5).tally(stack_turning.id).violations == 0);
  CHECK(judged(1.45, 0.5).tally(stack_turning.id).violations == 1);
  // The bound is a^K mu_0^2 = 0.5625 = 0.75^2.
  end.mu_K = 0.74;
  CHECK(judged(30, 0.5).tally(stack.corrected.id).violations == 1);
  end.mu_K = 0.76;
  CHECK(judged(30, 0.5).tally(stack.corrected.id).violations == 0);
  CHECK(judged(30, 0.5).tally(stack.as_printed.id).violations == 0);
  CHECK(judged(30, 0.5).tally(stack.as_printed.id).cases == 1);
}

TEST_CASE("bounds: the worked examples violate exactly the statements that they are made for") {
  struct Count {
    Statement statement;
    double violations, cases;
  };
  const Count expected[] = {
      {thm_4_1::cap, 0, 4},
      {thm_4_1::cross_term.as_printed, 1, 4},
      {thm_4_1::cross_term.corrected, 0, 4},
      {thm_4_1::row_normalization.as_printed, 4, 4},
      {thm_4_1::row_normalization.corrected, 0, 4},
      {thm_4_1::largest_row.as_printed, 1, 4},
      {thm_4_1::largest_row.corrected, 0, 4},
      {thm_4_1::per_layer.as_printed, 1, 4},
      {thm_4_1::per_layer.corrected, 0, 4},
      {thm_4_1::per_layer_sketch.as_printed, 1, 3},
      {thm_4_1::per_layer_sketch.corrected, 0, 3},
      {thm_4_1::per_layer_turning, 0, 4},
      {thm_4_1::stack.as_printed, 1, 1},
      {thm_4_3::lemma_A_4, 1, 1},
      // Two tokens 20 degrees apart: sin^K is compared with 2^-K, and 0.342^K sqrt 2 is below
      // tan(20) 2^-K / sqrt 2 for K >= 5, 0.117^K for K >= 2. Tokens that never move: mu is 0.632,
      // and sqrt 2 0.859375^K is below it for K >= 6, with K/2 for K >= 11.
      {thm_4_3::as_printed, 15 + 11, 16 + 16},
      {thm_4_3::half_exponent, 12 + 6, 16 + 16},
      {thm_4_3::corrected, 0, 16},
      {thm_4_3::lambda_min_limit.corrected, 0, 16},
      {thm_4_3::halving, 0, 16},
      {layer_lambda::as_printed, 1, 1},  // 0.0353 < 0.04
      {thm_4_3::small_lambda_max, 1, 1},
      {lemma_A_1.as_printed, 1, 1},
      {lemma_A_1.corrected, 0, 1},
      {lemma_A_5.as_printed, 1, 2},
      {lemma_A_5.corrected, 0, 2},
      {cor_A_3_1::norms.as_printed, 2, 4},
      {cor_A_3_1::norms.corrected, 0, 4},
      {step_A_8.as_printed, 1, 1},
      {step_A_8.corrected, 0, 1},
      {thm_A_10::as_printed, 1, 2},  // 2/sqrt 2 <= sqrt 8, but 16/sqrt 2 > 8
      {thm_A_10::corrected, 0, 2},
      {adversarial::lti_as_printed, 1, 1},
  };
  const TrialRecord found = worked_examples();
  for (const auto& [statement, violations, cases] : expected) {
    const auto& shown = statement;  // clang 14 cannot capture a structured binding
    CAPTURE(shown.id);
    CHECK(found.tally(statement.id).violations == violations);
    CHECK(found.tally(statement.id).cases == cases);
  }
  CHECK(found.tally(large_norm_vanishes).violations == 1);
  CHECK_FALSE(found.has_tally(thm_4_1::stack.corrected.id));
  // In the example without S, mu vanishes, but the sketch promises (18 - 12 sqrt 2)/(4 sqrt 2 +
  // 3)^2.
  StackNorms norms;
  norms.N = 2;
  norms.d = 1;
  norms.S = 4;
  norms.C_M = std::sqrt(2.0);
  CHECK(layer_sketched(std::sqrt(2.0), 3, norms) == doctest::Approx(0.0137).epsilon(5e-3));
}

TEST_CASE(
    "bounds: a comparison counts the case, allows the slack, and records the ratio of the two "
    "sides") {
  TrialRecord record;
  const Statement x = {"", "x", "", ""}, y = {"", "y", "", ""};
  CHECK_FALSE(compare(record, x, 1.0, 4.0, 0.0));
  CHECK(compare(record, x, 2.0, 1.9, 0.0));
  CHECK_FALSE(compare(record, x, 2.0, 1.9, 0.2));
  CHECK_FALSE(compare(record, x, -3.0, 1.0, 0.0));
  CHECK(record.tally("x").cases == 4);
  CHECK(record.tally("x").violations == 1);
  CHECK(record.tally("x").smallest == nearly(0.95));
  CHECK(record.tally("x").largest == nearly(4.0));
  CHECK(compare_logs(record, y, 100.0, 99.0, 0.001));
  CHECK_FALSE(compare_logs(record, y, 100.0, 99.95, 0.001));
  CHECK(record.tally("y").cases == 2);
  CHECK(record.tally("y").violations == 1);
  CHECK(record.tally("y").smallest == nearly(std::exp(-1.0)));
}

}  // namespace bounds_layer_test
