#include "nn/optimizers/muon.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "core/tolerances.hpp"
#include "ensembles/random_features.hpp"

namespace muon_test {

using namespace ranklab;

TEST_CASE(
    "the first step is the Newton-Schulz factor of the gradient times the root of the aspect "
    "ratio") {
  const Streams trial(4, 0);
  for (const auto& [rows, columns, factor] : {std::tuple{8, 2, 2.0}, {2, 8, 1.0}, {5, 5, 1.0}}) {
    const arma::mat g = draw_gaussian<double>(trial, "g", static_cast<std::uint64_t>(rows),
                                              static_cast<std::uint64_t>(columns), 1.0);
    // u = (1 - beta) g + beta (1 - beta) g, a multiple of g.
    const arma::mat expected = -factor * newton_schulz(arma::mat((0.05 + 0.95 * 0.05) * g));
    CHECK(arma::approx_equal(Muon<double>().step(g), expected, "absdiff",
                             tolerance::residual<double>));
  }
}

TEST_CASE("momentum is the exponential average of all gradients with one look-ahead step") {
  const Streams trial(4, 0);
  constexpr double beta = 0.8;
  Muon<double> muon(beta);
  std::vector<arma::mat> g;
  for (int t = 0; t < 6; ++t) {
    g.push_back(draw_gaussian<double>(trial, ("g" + std::to_string(t)).c_str(), 4, 6, 1.0));
    // m_t = (1 - beta) sum_s beta^(t - s) g_s, u = (1 - beta) g_t + beta m_t.
    arma::mat u = (1 - beta) * g.back();
    for (std::size_t s = 0; s < g.size(); ++s)
      u += beta * (1 - beta) * std::pow(beta, static_cast<double>(g.size() - 1 - s)) * g[s];
    const arma::mat expected = -newton_schulz(u);
    CHECK(
        arma::approx_equal(muon.step(g.back()), expected, "absdiff", tolerance::residual<double>));
  }
}

TEST_CASE("a zero gradient before any other gives a zero step") {
  CHECK(arma::accu(arma::abs(Muon<float>().step(arma::fmat(3, 2, arma::fill::zeros)))) == 0.0f);
}

}  // namespace muon_test
