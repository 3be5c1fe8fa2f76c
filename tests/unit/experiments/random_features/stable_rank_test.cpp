#include "experiments/random_features/stable_rank/study.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.hpp"
#include "core/tolerances.hpp"
#include "experiments/random_features/stable_rank/trial.hpp"
#include "experiments/random_features/stable_rank_tiny.hpp"
#include "experiments/result_parts.hpp"
#include "linalg/decompositions.hpp"
#include "linalg/spectra.hpp"
#include "run/pool.hpp"

using namespace ranklab;

namespace {

constexpr std::uint64_t seed = 11;

void set(Study& study, const std::string& name, const std::string& text) {
  for (const auto& field : study.fields()) {
    if (field.name == name) return field.parse(text, "--" + name);
  }
  FAIL("no field " << name);
}

std::unique_ptr<Study> tiny_study() {
  auto study = make_stable_rank_study();
  for (const auto& [name, text] : std::vector<std::pair<std::string, std::string>>{
           {"k", "24"}, {"d", "16"}, {"n", "60"}, {"depth", "3"}, {"tokens", "200"}, {"vocabulary", "100"}}) {
    set(*study, name, text);
  }
  return study;
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

TrialRecord measure(const StableRankConfig& config, bool single_precision = false) {
  Trial trial(seed, 0, 0);
  return stable_rank_trial(config, single_precision, trial);
}

}  // namespace

TEST_CASE("the measured stable ranks are those of the named draws") {
  const StableRankConfig config = tiny();
  const TrialRecord record = measure(config);
  const Trial trial(seed, 0, 0);
  // Unscaled weights: relu is homogeneous.
  arma::mat A = normal(trial, "X", 16, 60);
  CHECK(record.scalar("X.stable_rank") == close(stable_rank(singular_values(A))));
  const char* names[] = {"W1", "W2", "W3"};
  for (arma::uword layer = 0; layer < 3; ++layer) {
    const arma::mat W = normal(trial, names[layer], 24, A.n_rows);
    const arma::mat Z = W * A;
    A = (Z + arma::abs(Z)) / 2.0;
    CHECK(record.array("relu.depth.stable_rank").at(layer) == close(stable_rank(singular_values(A))));
  }
  CHECK(record.scalar("relu.stable_rank") == record.array("relu.depth.stable_rank").front());
}

TEST_CASE("swiglu multiplies by the second product") {
  StableRankConfig config = tiny();
  config.activation = {"swiglu"};
  config.depth = 1;
  const Trial trial(seed, 0, 0);
  const arma::mat X = normal(trial, "X", 16, 60) / 4.0, W = normal(trial, "W1", 24, 16), V = normal(trial, "V1", 24, 16);
  const arma::mat Z = W * X;
  const arma::mat A = (Z / (1.0 + arma::exp(-Z))) % (V * X);
  CHECK(measure(config).scalar("swiglu.stable_rank") == close(stable_rank(singular_values(A))));
}

TEST_CASE("the three fixed weights have the promised spectra") {
  StableRankConfig config = tiny();
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
  StableRankConfig all = tiny(), one = tiny();
  all.activation = {"silu", "swiglu", "quadratic", "relu"};
  one.activation = {"relu"};
  const TrialRecord many = measure(all), few = measure(one);
  for (const auto& entry : few.arrays()) {
    CAPTURE(entry.first);
    CHECK(many.array(entry.first) == entry.second);
  }
}

TEST_CASE("single precision gives nearly the same stable ranks, quadratic stacks stay finite") {
  StableRankConfig config = tiny();
  config.activation = {"relu", "relu2", "quadratic"};
  config.depth = 12;
  const TrialRecord exact = measure(config), rough = measure(config, true);
  for (const char* name : {"relu.depth.stable_rank", "relu2.depth.stable_rank", "quadratic.depth.stable_rank"}) {
    for (std::size_t layer = 0; layer < 12; ++layer) {
      CAPTURE(name);
      CAPTURE(layer);
      CHECK(exact.array(name).at(layer) >= 1.0 - tolerance::residual<double>);
      // Degree 2 doubles the relative error at every layer.
      CHECK(rough.array(name).at(layer) == doctest::Approx(exact.array(name).at(layer)).epsilon(1e-2));
    }
  }
}

TEST_CASE("a tiny run judges the table: gelu fails as printed and holds when corrected") {
  const auto study = tiny_study();
  study->validate();
  Pool runner({.seed = seed, .trials = 3}, nullptr);
  const Result result = study->run(runner);
  CHECK(find_claim(result, "spectral/fig-12/gelu/as-printed").verdict == Verdict::fails);
  for (const char* id : {"spectral/fig-12/gelu/corrected", "spectral/fig-12/gelu/nsr/corrected", "spectral/fig-12/abs",
                         "spectral/fig-12/relu", "spectral/fig-12/leaky-relu", "spectral/fig-12/relu2", "spectral/fig-12/relu/nsr",
                         "spectral/thm-2.8/layer-1", "spectral/eq-2.15", "spectral/lemma-2.9/rms-normalised"}) {
    CAPTURE(id);
    CHECK(find_claim(result, id).verdict == Verdict::holds);
  }
  // 60 samples: enough for one layer of Theorem 2.8 and not for two.
  CHECK(find_claim(result, "spectral/thm-2.8/layer-2").verdict == Verdict::not_applicable);
  CHECK(find_claim(result, "spectral/eq-2.15/zipf").verdict == Verdict::not_applicable);
  for (const auto& c : result.claims) CHECK(c.id.starts_with("spectral/"));
}

TEST_CASE("names that scripts rely on, and the shape of the result") {
  const auto study = tiny_study();
  Pool runner({.seed = seed, .trials = 2}, nullptr);
  const Result result = study->run(runner);
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
  CHECK(result.figure.panels.at(0).x.ticks.size() == find_series(result, "stable_rank").x.size());
  CHECK(result.notes.size() == 2);  // what Theorems 2.6 and 2.7 cover, and that 2.8 is vacuous here
  Pool interrupted({.seed = seed, .trials = 0}, nullptr);
  CHECK_NOTHROW(study->run(interrupted));
}

TEST_CASE("rules that span several flags") {
  const auto study = tiny_study();
  CHECK_NOTHROW(study->validate());
  set(*study, "rank", "17");
  CHECK_THROWS_AS(study->validate(), UsageError);
  set(*study, "rank", "16");
  CHECK_NOTHROW(study->validate());
  set(*study, "failure-probability", "0.5");
  CHECK_THROWS_AS(study->validate(), UsageError);
  set(*study, "failure-probability", "0.4");
  set(*study, "epsilon", "1");
  CHECK_THROWS_AS(study->validate(), UsageError);
  CHECK_THROWS_AS(set(*study, "variances", "1,0"), UsageError);
  CHECK_THROWS_AS(set(*study, "activation", "relu,rleu"), UsageError);
}

TEST_CASE("the estimate grows with the work") {
  const auto small = tiny_study(), large = tiny_study();
  set(*large, "n", "6000");
  CHECK(large->estimate().flops > 50.0 * small->estimate().flops);
  CHECK(large->estimate().bytes > small->estimate().bytes);
  // At the least: six activations and the quadratic one, three layers, k x n outputs all held at once.
  CHECK(large->estimate().bytes > 8.0 * 7 * 24 * 6000);
}
