// Growth of steps, cosines and weights, for sequences and matrices worked out by hand.
#include <doctest/doctest.h>

#include "core/tolerances.hpp"
#include "experiments/rank_collapse/bounds/bounds.hpp"

namespace bounds_curves_test {

using namespace ranklab;
using namespace ranklab::bounds;

namespace {

doctest::Approx nearly(double value) {
  return doctest::Approx(value).scale(0).epsilon(tolerance::residual<double>);
}

// log mu_k for mu_{k+1} = C mu_k^power.
std::vector<double> iterated(double power, double log_C, std::size_t layers) {
  std::vector<double> logs = {-0.5};
  for (std::size_t k = 0; k < layers; ++k) logs.push_back(log_C + power * logs.back());
  return logs;
}

}  // namespace

TEST_CASE("bounds: the growth of the steps of log mu equals the power of the recursion") {
  for (const double power : {1.0, 2.0, 3.0}) {
    const std::vector<double> logs = iterated(power, -2, 8), growth = growth_of_steps(logs);
    REQUIRE(growth.size() == 7);
    for (const double g : growth) CHECK(g == nearly(power));
    CHECK(mean_growth(logs) == nearly(power));
    CHECK(mean_growth(padded(logs, 20)) == nearly(power));  // padding does not change the growth
  }
  // Only the second half counts: the steps 1, 1, 1, 2, 4 have growth 2 from the third step on.
  CHECK(mean_growth({0, -1, -2, -3, -5, -9}) == nearly(2));
  CHECK(std::isnan(mean_growth({0, -1})));
  CHECK(std::isnan(mean_growth({0, -1, 1})));
}

TEST_CASE(
    "bounds: the smallest cosine of two tokens, and the smallest weight with or without a mask") {
  // Tokens (1, 0), (0, 2), (-1, 1).
  const arma::mat Y = {{1, 0, -1}, {0, 2, 1}};
  CHECK(smallest_cosine(Y) == -1);
  const arma::mat M = {{5, 1, 2}, {3, 6, 1}, {4, 7, 8}};
  CHECK(smallest_weight(M, false) == 1);
  CHECK(smallest_weight(M, true) == 3);
}

TEST_CASE("bounds: the logarithms of norm and mu include the scale of the state") {
  // The tokens are 2^100 (3, 0) and 2^100 (0, 4): norm 5 and mu 5 / sqrt 2, times 2^100.
  const State<double> state{{{3, 0}, {0, 4}}, 100.0, 0};
  CHECK(log_norm(state) == nearly(100 * std::numbers::ln2 + std::log(5.0)));
  CHECK(log_mu(state) == nearly(100 * std::numbers::ln2 + std::log(5 / std::sqrt(2.0))));
}

}  // namespace bounds_curves_test
