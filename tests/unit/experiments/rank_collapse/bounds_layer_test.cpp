// One layer opened up, against loops; the judges on cases worked by hand.
#include "experiments/rank_collapse/bounds/layer.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "core/tolerances.hpp"
#include "experiments/rank_collapse/bounds/examples.hpp"
#include "gaussian.hpp"
#include "models/blocks/norms.hpp"

using namespace ranklab;
using namespace ranklab::bounds;

namespace {

doctest::Approx nearly(double value) {
  return doctest::Approx(value).scale(0).epsilon(tolerance::residual<double>);
}

// mu^2 as half the mean squared distance of all pairs of tokens (columns), times N: another way than by the mean.
double pair_spread(const arma::mat& Y) {
  double sum = 0;
  for (arma::uword i = 0; i < Y.n_cols; ++i) {
    for (arma::uword j = 0; j < Y.n_cols; ++j) sum += std::pow(arma::norm(Y.col(i) - Y.col(j)), 2);
  }
  return std::sqrt(sum / (2 * static_cast<double>(Y.n_cols)));
}

// A layer of which every printed and corrected inequality holds with room: nothing is mixed, lambda = 2.
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

// Inequalities that these layers violate.
std::vector<std::string> violated(const Layer& layer) {
  Findings findings;
  judge_layer(layer, 0.0, findings);
  std::vector<std::string> names;
  for (const auto& [name, tally] : findings.tallies) {
    if (tally.violations > 0 && !name.ends_with("positive") && !name.ends_with("negative")) names.push_back(name);
  }
  return names;
}

}  // namespace

TEST_CASE("bounds: a layer's norms and spreads by other ways") {
  const arma::mat Y = gaussian(3, 5, "layer.Y"), M = gaussian(5, 5, "layer.M"), C_V = gaussian(3, 3, "layer.V"),
                  next = gaussian(3, 5, "layer.next");
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

TEST_CASE("bounds: each inequality of a layer is broken by its own number") {
  CHECK(violated(still_layer()).empty());
  using Names = std::vector<std::string>;
  const std::string at = "thm-4.1/";
  Layer layer = still_layer();
  layer.mu_next = 2.01;
  CHECK(violated(layer) == Names{at + "cap"});
  layer = still_layer();
  layer.mu_next = 1.49;
  CHECK(violated(layer) == Names{at + "step-row-normalisation/as-printed", at + "step-row-normalisation/corrected"});
  layer.row_spread = 0.1;
  CHECK(violated(layer) == Names{at + "step-row-normalisation/as-printed"});
  layer = still_layer();
  layer.largest_row = 2.4;  // S C_M + 2 = 2.354, sqrt N row + 2 = 2.5
  CHECK(violated(layer) == Names{at + "step-largest-row/as-printed"});
  layer.largest_row = 2.6;
  CHECK(violated(layer) == Names{at + "step-largest-row/as-printed", at + "step-largest-row/corrected"});
  layer = still_layer();
  layer.mu_mixed = 2.2;  // 9 - 2 * 2 * 4 * 0.25 = 5, 9 - 2 * 2 * 4 * 2 * 0.354 < 0
  CHECK(violated(layer) == Names{at + "step-cross-term/corrected"});
  layer.lambda = -2;  // 9 + 11.3; and (9 + 11.3) / 2.354^2 > 1.5^2
  CHECK(violated(layer) == Names{at + "per-layer/as-printed", at + "step-cross-term/as-printed", at + "step-cross-term/corrected"});
  layer = still_layer();
  layer.mu_mixed = 2.5;
  layer.mu_next = 0.99;  // 1.5 - 2 * 2 * 0.25 / 2 = 1; (9 - 4) / 2.354^2 = 0.902 < 0.99^2
  layer.row_spread = 1;
  CHECK(violated(layer) == Names{at + "per-layer/turning", at + "step-row-normalisation/as-printed"});
  layer.mu_next = 0.94;
  CHECK(violated(layer) == Names{at + "per-layer/corrected", at + "per-layer/turning", at + "step-row-normalisation/as-printed"});
}

TEST_CASE("bounds: Theorem 4.1 is judged where its hypotheses hold") {
  StackEnd end;
  end.norms = still_layer().norms;
  end.K = 2;
  end.mu_0 = 1.5;
  end.mu_K = 0.1;
  const auto judged = [&](double lambda, double a) {
    end.lambda = lambda;
    Findings findings;
    judge_stack(end, {a}, 0.0, findings);
    return findings;
  };
  // S C_M = 0.3536; at a = 1/2 the threshold is 0.854.
  Findings silent = judged(0.8, 0.5);
  CHECK(silent["thm-4.1/threshold"].cases == 1);
  CHECK(silent["thm-4.1/threshold"].violations == 0);
  CHECK(silent["thm-4.1/condition-7"].cases == 0);
  CHECK(silent["thm-4.1/statement/as-printed"].cases == 0);
  // b = 4 * 2 * 4 * 2 * 0.3536 / (1/2 lambda) = 45 / lambda is at most 2.25 from about 20; corrected 16 / lambda from 7.
  CHECK(judged(10, 0.5)["thm-4.1/statement/as-printed"].cases == 0);
  CHECK(judged(10, 0.5)["thm-4.1/statement/corrected"].violations == 1);
  CHECK(judged(30, 0.5)["thm-4.1/statement/as-printed"].violations == 1);
  CHECK(judged(-10, 0.5)["thm-4.1/statement/as-printed/negative"].violations == 1);
  // 1.5 - 2 * 2 * 2 * 0.25 / lambda.
  CHECK(judged(1.3, 0.5)["thm-4.1/statement/turning"].cases == 0);
  CHECK(judged(1.42, 0.5)["thm-4.1/statement/turning"].violations == 0);
  CHECK(judged(1.45, 0.5)["thm-4.1/statement/turning"].violations == 1);
  // a^K mu_0^2 = 0.5625 = 0.75^2.
  end.mu_K = 0.74;
  CHECK(judged(30, 0.5)["thm-4.1/statement/corrected"].violations == 1);
  end.mu_K = 0.76;
  CHECK(judged(30, 0.5)["thm-4.1/statement/corrected"].violations == 0);
  CHECK(judged(30, 0.5)["thm-4.1/statement/as-printed"].violations == 0);
  CHECK(judged(30, 0.5)["thm-4.1/statement/as-printed"].cases == 1);
}

TEST_CASE("bounds: the worked examples break what they are meant to break") {
  const std::map<std::string, std::pair<double, double>> expected = {
      {"thm-4.1/cap", {0, 3}},
      {"thm-4.1/step-cross-term/as-printed", {1, 3}},
      {"thm-4.1/step-cross-term/corrected", {0, 3}},
      {"thm-4.1/step-row-normalisation/as-printed", {3, 3}},
      {"thm-4.1/step-row-normalisation/corrected", {0, 3}},
      {"thm-4.1/step-largest-row/as-printed", {1, 3}},
      {"thm-4.1/step-largest-row/corrected", {0, 3}},
      {"thm-4.1/per-layer/as-printed", {1, 3}},
      {"thm-4.1/per-layer/corrected", {0, 3}},
      {"thm-4.1/per-layer/turning", {0, 3}},
      {"thm-4.1/statement/as-printed", {1, 1}},
      {"lemma-A.4", {1, 1}},
      // sin^K against 2^-K: 0.342^K sqrt 2 is below tan(20) 2^-K / sqrt 2 from K = 5 on; 0.117^K from K = 2 on.
      {"thm-4.3/as-printed", {15, 16}},
      {"thm-4.3/half-exponent", {12, 16}},
      {"thm-4.3/corrected", {0, 16}},
  };
  const Findings found = worked_examples();
  for (const auto& entry : expected) {
    CAPTURE(entry.first);
    REQUIRE(found.tallies.contains(entry.first));
    CHECK(found.tallies.at(entry.first).violations == entry.second.first);
    CHECK(found.tallies.at(entry.first).cases == entry.second.second);
  }
  CHECK_FALSE(found.tallies.contains("thm-4.1/statement/corrected"));
}

TEST_CASE("bounds: tallies count, keep the closest case, and survive a record") {
  Findings findings;
  findings["x"].compare(1.0, 4.0, 0.0);
  findings["x"].compare(2.0, 1.9, 0.0);
  findings["x"].compare(2.0, 1.9, 0.2);
  findings["x"].compare(-3.0, 1.0, 0.0);
  CHECK(findings["x"].cases == 4);
  CHECK(findings["x"].violations == 1);
  CHECK(findings["x"].closest == nearly(0.95));
  findings["y"].compare_logs(100.0, 99.0, 0.001);
  findings["y"].compare_logs(100.0, 99.95, 0.001);
  CHECK(findings["y"].violations == 1);
  CHECK(findings["y"].closest == nearly(std::exp(-1.0)));
  findings.values["z"] = {3.0};
  findings.degenerate_rows = 2;
  const std::vector<TrialRecord> records = {to_record(findings), to_record(findings), to_record(Findings{})};
  CHECK(tally_over(records, "x").cases == 8);
  CHECK(tally_over(records, "x").violations == 2);
  CHECK(tally_over(records, "x").closest == nearly(0.95));
  CHECK(tally_over(records, "none").cases == 0);
  CHECK(records[0].scalar("z") == 3.0);
  CHECK(records[0].scalar("degenerate_rows") == 2.0);
}
