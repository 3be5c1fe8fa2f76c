#include <doctest/doctest.h>

#include <cmath>

#include "core/tolerances.hpp"
#include "experiments/configured_study.hpp"
#include "experiments/random_features/random_features.hpp"
#include "experiments/random_features/stable_rank_tiny.hpp"
#include "experiments/result_parts.hpp"
#include "figure/cell_text.hpp"
#include "linalg/decompositions.hpp"
#include "linalg/spectra.hpp"

namespace stable_rank_test {

using namespace ranklab;

namespace {

constexpr std::uint64_t seed = 11;

FlagValues tiny_flags(const FlagValues& more = {}) {
  FlagValues values = {{"k", "24"},    {"d", "16"},       {"n", "60"},
                       {"depth", "3"}, {"tokens", "200"}, {"vocabulary", "100"}};
  values.insert(values.end(), more.begin(), more.end());
  return values;
}

Result run_tiny(std::uint64_t trials) {
  const auto study = configured(make_stable_rank_study(), tiny_flags());
  Pool pool({.seed = seed, .trials = trials}, nullptr);
  return study->report(pool.run(study->work()));
}

doctest::Approx close(double expected) {
  return doctest::Approx(expected).epsilon(tolerance::residual<double>);
}

arma::mat normal(const Trial& trial, const char* name, arma::uword rows, arma::uword columns) {
  arma::mat G(rows, columns);
  Stream stream = trial.stream(name);
  stream.fill_normal({G.memptr(), G.n_elem});
  return G;
}

}  // namespace

TEST_CASE("the measured stable ranks equal those recomputed from the named draws") {
  const stable_ranks::Config config = tiny();
  const TrialRecord record = measure(config);
  const Trial trial(seed, 0, 0);
  // The weights can stay unscaled because relu is homogeneous.
  arma::mat A = normal(trial, "X", 16, 60);
  CHECK(record.scalar("X.stable_rank") == close(stable_rank(singular_values(A))));
  const char* names[] = {"W1", "W2", "W3"};
  for (arma::uword layer = 0; layer < 3; ++layer) {
    const arma::mat W = normal(trial, names[layer], 24, A.n_rows);
    const arma::mat Z = W * A;
    A = (Z + arma::abs(Z)) / 2.0;
    CHECK(record.array("relu.depth.stable_rank").at(layer) ==
          close(stable_rank(singular_values(A))));
  }
  CHECK(record.scalar("relu.stable_rank") == record.array("relu.depth.stable_rank").front());
}

TEST_CASE("swiglu multiplies the gate by the second product") {
  stable_ranks::Config config = tiny();
  config.activation = {"swiglu"};
  config.depth = 1;
  const Trial trial(seed, 0, 0);
  const arma::mat X = normal(trial, "X", 16, 60) / 4.0, W = normal(trial, "W1", 24, 16),
                  V = normal(trial, "V1", 24, 16);
  const arma::mat Z = W * X;
  const arma::mat A = (Z / (1.0 + arma::exp(-Z))) % (V * X);
  CHECK(measure(config).scalar("swiglu.stable_rank") == close(stable_rank(singular_values(A))));
}

TEST_CASE("the three fixed weight matrices have the documented spectra") {
  stable_ranks::Config config = tiny();
  config.activation = {"identity"};
  config.rank = 2;
  config.power = 1.5;
  const TrialRecord record = measure(config);
  double sum = 0.0;
  for (int i = 1; i <= 16; ++i) sum += std::pow(i, -3.0);
  CHECK(record.scalar("W.stable_rank_power_law") == close(sum));
  CHECK(record.scalar("W.stable_rank_low_rank") <= 2.0);
  CHECK(record.scalar("identity.stable_rank_low_rank") <= 2.0);
  CHECK(record.scalar("W.stable_rank") > 2.0);
}

TEST_CASE("an activation's numbers do not depend on the others in the list") {
  stable_ranks::Config all = tiny(), one = tiny();
  all.activation = {"silu", "swiglu", "quadratic", "relu"};
  one.activation = {"relu"};
  const TrialRecord many = measure(all), few = measure(one);
  for (const auto& entry : few.arrays()) {
    CAPTURE(entry.first);
    CHECK(many.array(entry.first) == entry.second);
  }
}

TEST_CASE("the stable ranks of deep homogeneous stacks are finite and at least 1") {
  stable_ranks::Config config = tiny();
  config.activation = {"relu", "relu2", "quadratic"};
  config.depth = 12;
  const TrialRecord record = measure(config);
  for (const char* name :
       {"relu.depth.stable_rank", "relu2.depth.stable_rank", "quadratic.depth.stable_rank"}) {
    for (std::size_t layer = 0; layer < 12; ++layer) {
      CAPTURE(name);
      CAPTURE(layer);
      CHECK(std::isfinite(record.array(name).at(layer)));
      CHECK(record.array(name).at(layer) >= 1.0 - tolerance::residual<double>);
    }
  }
}

TEST_CASE("a tiny run judges the table: gelu fails as printed and holds when corrected") {
  const Result result = run_tiny(3);
  CHECK(find_claim(result, "spectral/fig-12/gelu/as-printed").verdict == Verdict::fails);
  for (const char* id :
       {"spectral/fig-12/gelu/corrected", "spectral/fig-12/gelu/nsr/corrected",
        "spectral/fig-12/abs", "spectral/fig-12/relu", "spectral/fig-12/leaky-relu",
        "spectral/fig-12/relu2", "spectral/fig-12/relu/nsr", "spectral/thm-2.8/layer-1",
        "spectral/eq-2.15", "spectral/lemma-2.9/rms-normalised"}) {
    CAPTURE(id);
    CHECK(find_claim(result, id).verdict == Verdict::holds);
  }
  // 60 samples are enough for one layer of Theorem 2.8, but not for two.
  CHECK(find_claim(result, "spectral/thm-2.8/layer-2").verdict == Verdict::not_applicable);
  CHECK(find_claim(result, "spectral/eq-2.15/zipf").verdict == Verdict::not_applicable);
  for (const auto& c : result.claims) CHECK(c.id.starts_with("spectral/"));
}

TEST_CASE("the result has the names that scripts rely on, and the expected shape") {
  const Result result = run_tiny(2);
  CHECK(find_scalar(result, "relu.stable_rank").size() == 2);
  CHECK(find_scalar(result, "relu.nsr_bound").at(1) == close(3.14159265358979324));
  CHECK(find_scalar(result, "relu.nsr_quadrature").at(0) == close(3.14159265358979324));
  CHECK(find_scalar(result, "gelu.nsr_bound").at(0) == close(4.0 * 3.14159265358979324));
  CHECK(std::isnan(find_scalar(result, "silu.nsr_bound").at(0)));
  CHECK(find_scalar(result, "silu.stable_rank").at(0) >= 1.0);
  CHECK(find_series(result, "relu.depth.stable_rank").x == std::vector<double>{1.0, 2.0, 3.0});
  CHECK(find_series(result, "nsr_bound").mean.at(3) == close(6.0));
  CHECK(find_series(result, "quadratic.depth.bound").mean.at(0) == close(354294.0));
  for (const auto& panel : result.figure.panels) {
    for (const auto& curve : panel.curves) find_series(result, curve.series);
  }
  CHECK(find_series(result, "stable_rank").x.size() == 6);
  CHECK(result.notes.size() == 2);  // one on Theorems 2.6 and 2.7, one on the vacuous 2.8
}

TEST_CASE("the figure is the paper's table, with our numbers next to the printed ones") {
  const Result result = run_tiny(3);
  REQUIRE(result.figure.panels.size() == 2);
  CHECK(result.figure.panels[0].curves.size() == 6);
  CHECK(result.figure.panels[1].curves.at(0).series == "quadratic.depth.stable_rank");
  CHECK(result.more_figures.empty());
  REQUIRE(result.figure.tables.size() == 1);
  const FigureTable& table = result.figure.tables[0];
  REQUIRE(table.columns.size() == 9);
  // GELU has a second row, because its constants depend on s_*.
  REQUIRE(table.rows.size() == 7);
  std::vector<std::string> names;
  for (const auto& row : table.rows) {
    CHECK(row.size() == table.columns.size());
    names.push_back(row.at(0));
  }
  CHECK(names == std::vector<std::string>{"|x|", "ReLU", "leaky ReLU", "squared ReLU", "GELU",
                                          "GELU, w' Sigma w = 4", "SiLU"});
  // alpha = 1/(2 pi), beta = 1/2 and their ratio pi are the best constants for ReLU.
  const std::vector<std::string> relu(table.rows[1].begin() + 1, table.rows[1].end() - 1);
  CHECK(relu ==
        std::vector<std::string>{"w' Sigma w", "0.1592", "0.1592", "0.5", "0.5", "3.142", "3.142"});
  CHECK(table.rows[1].back() == mean_text(find_scalar(result, "relu.stable_rank")));
  CHECK(table.rows[3].at(1) == "(w' Sigma w)^2");
  // With s_* = w' Sigma w = 4 as printed, alpha is 16/(34 pi), above 2/(5 pi), the largest allowed.
  CHECK(table.rows[5].at(2) == "0.1498");
  CHECK(table.rows[5].at(3) == "0.1273");
  CHECK(table.rows[6].at(2) == "-");  // SiLU is not in the paper's table
  CHECK(table.rows[6].at(3) == "-");
  CHECK(table.rows[6].at(7) != "-");
}

TEST_CASE("values that violate a rule across several flags are refused") {
  const auto refused = [](const FlagValues& values) {
    return refusal(make_stable_rank_study(), tiny_flags(values));
  };
  CHECK(refused({}) == "");
  CHECK(refused({{"rank", "17"}}) == "--rank 17 is not allowed: at most min(--k, --d) = 16");
  CHECK(refused({{"rank", "16"}}) == "");
  CHECK(refused({{"failure-probability", "0.5"}}) ==
        "--failure-probability 0.5 is not allowed: below 0.5");
  CHECK(refused({{"failure-probability", "0.4"}, {"epsilon", "1"}}) ==
        "--epsilon 1 is not allowed: below 1");
  CHECK(refused({{"variances", "1,0"}}).find("--variances") != std::string::npos);
  CHECK(refused({{"activation", "relu,rleu"}}).find("relu") != std::string::npos);
}

TEST_CASE("the estimate grows with the size of the problem") {
  const auto small = configured(make_stable_rank_study(), tiny_flags()),
             large = configured(make_stable_rank_study(), tiny_flags({{"n", "6000"}}));
  CHECK(large->memory().bytes > small->memory().bytes);
  // Lower bound: six activations and the quadratic one, for three layers, with k x n outputs all in
  // memory at once.
  CHECK(large->memory().bytes > 8.0 * 7 * 24 * 6000);
}

}  // namespace stable_rank_test
