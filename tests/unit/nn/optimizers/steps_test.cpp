#include "nn/optimizers/steps.hpp"

#include <doctest/doctest.h>

#include "core/tolerances.hpp"
#include "ensembles/random_features.hpp"

namespace steps_test {

using namespace ranklab;

TEST_CASE("the step for a diagonal gradient agrees with a calculation by hand") {
  const arma::mat G = arma::diagmat(arma::vec{4.0, 1.0});
  const auto spectral = spectral_step(G, 10.0, -1.0);
  CHECK(spectral.nuclear_norm == doctest::Approx(5.0).epsilon(1e-14));
  CHECK(arma::approx_equal(spectral.step, arma::mat(-0.5 * arma::eye(2, 2)), "absdiff", 1e-14));
}

TEST_CASE("the step minimizes its majorant of the loss") {
  // [Spectral] eq. (1.4): L(W + U) <= L(W) + <G, U> + L_op ||U||_op^2 / 2.
  const Streams trial(5, 0);
  const arma::mat G = draw_gaussian<double>(trial, "G", 5, 7, 1.0);
  const double L_op = 9.0;
  const auto operator_norm = [&](const arma::mat& U) {
    return arma::dot(G, U) + L_op / 2 * std::pow(arma::norm(U, 2), 2);
  };
  const auto spectral = spectral_step(G, L_op, -1.0);
  const double nuclear = arma::accu(arma::svd(G));
  CHECK(operator_norm(spectral.step) ==
        doctest::Approx(-nuclear * nuclear / (2 * L_op)).epsilon(1e-10));
  for (int i = 0; i < 50; ++i) {
    const arma::mat other =
        draw_gaussian<double>(trial, ("U" + std::to_string(i)).c_str(), 5, 7, 0.1);
    CHECK(operator_norm(spectral.step + other) > operator_norm(spectral.step) - 1e-12);
  }
}

TEST_CASE("the Euclidean step minimizes its own majorant") {
  // [Spectral] eq. (1.4): L(W + U) <= L(W) + <G, U> + L_F ||U||_F^2 / 2; at its minimizer the value
  // is -||G||_F^2 / (2 L_F).
  const Streams trial(5, 0);
  const arma::mat G = draw_gaussian<double>(trial, "G", 3, 4, 1.0);
  const double L_F = 2.5;
  const auto majorant = [&](const arma::mat& U) {
    return arma::dot(G, U) + L_F / 2 * arma::dot(U, U);
  };
  const arma::mat step = euclidean_step(G, L_F);
  CHECK(majorant(step) ==
        doctest::Approx(-arma::dot(G, G) / (2 * L_F)).epsilon(tolerance::closed_form<double>));
  for (int i = 0; i < 20; ++i) {
    const arma::mat other =
        draw_gaussian<double>(trial, ("U" + std::to_string(i)).c_str(), 3, 4, 0.1);
    CHECK(majorant(step + other) > majorant(step));
  }
  CHECK(arma::accu(arma::abs(euclidean_step(G, 0.0))) == 0.0);
}

TEST_CASE("zero curvature gives a zero step") {
  const arma::mat G(2, 3, arma::fill::zeros);
  CHECK(arma::accu(arma::abs(spectral_step(G, 0.0, -1.0).step)) == 0.0);
  CHECK(arma::accu(arma::abs(spectral_step(G, 1.0, -1.0).step)) == 0.0);
}

}  // namespace steps_test
