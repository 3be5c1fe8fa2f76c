// The random problems of the study regression have the structure that their flags describe.
#include "experiments/one_step_compare/regression/regression.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "core/tolerances.hpp"

namespace regression_draw_test {

using namespace ranklab;
using namespace ranklab::regression;

namespace {

Config only(const std::string& features, const std::string& labels) {
  Config config;
  config.m_low = config.m_high = 7;
  config.k_low = config.k_high = 9;
  config.n_low = config.n_high = 15;
  config.features = {features};
  config.labels = {labels};
  config.scale_decades = 0;
  config.deficient = 0;
  return config;
}

arma::uword numerical_rank(const arma::mat& A) {
  const arma::vec s = arma::svd(A);
  return arma::accu(s > 1e-10 * s(0));
}

}  // namespace

TEST_CASE("sizes are drawn log-uniformly from their range, including both ends") {
  std::set<std::uint64_t> seen;
  int below = 0;
  constexpr int trials = 3000;
  for (int i = 0; i < trials; ++i) {
    const std::uint64_t drawn = log_uniform_integer(Trial(1, std::uint64_t(i), 0), "m", 2, 31);
    seen.insert(drawn);
    below += drawn < 8 ? 1 : 0;
  }
  CHECK(*seen.begin() == 2);
  CHECK(*seen.rbegin() == 31);
  // The probability is log(8/2) / log(32/2) = 1/2.
  CHECK(std::fabs(below - trials / 2.0) < tolerance::standard_errors * std::sqrt(trials / 4.0));
}

TEST_CASE("power-law features have the drawn singular values, and their rank can be reduced") {
  Config config = only("power-law", "realizable");
  for (std::uint64_t i = 0; i < 5; ++i) {
    const arma::vec s = arma::svd(draw_one_step_problem(config, Trial(2, i, 0)).A);
    const double p = -std::log2(s(1) / s(0));
    CHECK(p >= 0);
    CHECK(p <= config.decay);
    for (arma::uword j = 0; j < s.n_elem; ++j) {
      CHECK(s(j) / s(0) == doctest::Approx(std::pow(double(j + 1), -p)).epsilon(1e-8));
    }
  }
  config.deficient = 1;
  config.decay = 0;
  std::set<arma::uword> ranks;
  for (std::uint64_t i = 0; i < 60; ++i)
    ranks.insert(numerical_rank(draw_one_step_problem(config, Trial(2, i, 0)).A));
  CHECK(*ranks.begin() == 1);
  CHECK(ranks.size() > 5);
  config.features = {"gaussian"};
  ranks.clear();
  for (std::uint64_t i = 0; i < 60; ++i)
    ranks.insert(numerical_rank(draw_one_step_problem(config, Trial(2, i, 0)).A));
  CHECK(*ranks.begin() == 1);
  CHECK(ranks.size() > 5);
}

TEST_CASE(
    "labels: realizable ones are fitted exactly, low-rank ones leave a low-rank residual, others "
    "neither") {
  const auto residual_of_best_fit = [](const OneStepProblem& p) {
    return arma::norm(p.Y - arma::mat(p.Y * arma::pinv(p.A)) * p.A, "fro") / arma::norm(p.Y, "fro");
  };
  std::set<arma::uword> ranks;
  for (std::uint64_t i = 0; i < 20; ++i) {
    const Trial trial(3, i, 0);
    CHECK(residual_of_best_fit(draw_one_step_problem(only("gaussian", "realizable"), trial)) <
          1e-10);
    CHECK(residual_of_best_fit(draw_one_step_problem(only("gaussian", "late"), trial)) < 1e-10);
    CHECK(residual_of_best_fit(draw_one_step_problem(only("gaussian", "noisy"), trial)) > 1e-4);
    CHECK(residual_of_best_fit(draw_one_step_problem(only("gaussian", "arbitrary"), trial)) > 0.1);
    const auto low = draw_one_step_problem(only("gaussian", "low-rank"), trial);
    ranks.insert(numerical_rank(low.W * low.A - low.Y));
  }
  CHECK(*ranks.begin() == 1);
  CHECK(*ranks.rbegin() <= 7);
  CHECK(ranks.size() > 3);
}

TEST_CASE("late labels put W on the path of gradient descent with the step 1/L_F") {
  Config config = only("relu", "realizable");
  config.late = 40;
  const Trial trial(4, 1, 0);
  OneStepProblem p = draw_one_step_problem(config, trial);
  config.labels = {"late"};
  const OneStepProblem late = draw_one_step_problem(config, trial);
  CHECK(arma::approx_equal(late.Y, p.Y, "absdiff", 0.0));
  const double largest = std::pow(arma::svd(p.A)(0), 2);
  double closest = arma::datum::inf;
  for (std::uint64_t t = 0; t <= config.late; ++t) {
    closest = std::fmin(closest, arma::norm(p.W - late.W, "fro") / arma::norm(late.W, "fro"));
    p.W -= (p.W * p.A - p.Y) * p.A.t() / largest;
  }
  CHECK(closest < 1e-10);
}

TEST_CASE("the scale multiplies A") {
  Config config = only("relu", "noisy");
  const Trial trial(5, 0, 0);
  const auto plain = draw_one_step_problem(config, trial);
  config.scale_decades = 3;
  const auto scaled = draw_one_step_problem(config, trial);
  CHECK(arma::norm(scaled.A, "fro") ==
        doctest::Approx(arma::norm(plain.A, "fro") * std::pow(10.0, scaled.log10_scale))
            .epsilon(tolerance::residual<double>));
}

}  // namespace regression_draw_test
