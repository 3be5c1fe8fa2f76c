#include "ensembles/random_features.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace random_features_test {

using namespace ranklab;

namespace {

const FeatureSizes sizes{7, 9, 5, 23};
const Streams trial(11, 2);

arma::mat features(const std::string& activation) {
  return draw_random_features(trial, sizes, activation, 0.4);
}

}  // namespace

TEST_CASE(
    "the eigenbasis of the Gram matrix gives the same loss, gradient, step and constants as all n "
    "samples") {
  const arma::mat A = features("relu"),
                  W_sharp = draw_gaussian<double>(trial, "W_sharp", sizes.m, sizes.k, 0.3);
  const auto problem = regression_problem(A, W_sharp);
  const arma::mat W = draw_gaussian<double>(trial, "W", sizes.m, sizes.k, 1.0);
  const arma::mat Y = W_sharp * A, E = (W - W_sharp) * problem.basis;
  const double n = static_cast<double>(sizes.n);

  const arma::mat gradient = (W * A - Y) * A.t() / n;
  CHECK(arma::norm(problem.gradient(E) * problem.basis.t() - gradient, "fro") <=
        1e-13 * arma::norm(gradient, "fro"));
  const double loss = std::pow(arma::norm(W * A - Y, "fro"), 2) / (2 * n);
  CHECK(problem.objective_gap(E) == doctest::Approx(loss).epsilon(1e-13));
  CHECK(arma::norm(problem.start * problem.basis.t() + W_sharp, "fro") <= 1e-13);

  const arma::vec s = arma::svd(A);
  const double L_F = s(0) * s(0) / n;
  CHECK(problem.L_F == doctest::Approx(L_F).epsilon(1e-12));
  CHECK(problem.L_op == doctest::Approx(arma::dot(s, s) / n).epsilon(1e-12));
  CHECK(problem.stable_rank_A == doctest::Approx(arma::dot(s, s) / (s(0) * s(0))).epsilon(1e-12));

  const arma::mat next = problem.after_euclidean_step(E, 0.7) * problem.basis.t() + W_sharp;
  CHECK(arma::norm(next - (W - 0.7 / L_F * gradient), "fro") <= 1e-12 * arma::norm(W, "fro"));
  CHECK(arma::norm(problem.after_euclidean_step(E).col(0)) == 0.0);
}

TEST_CASE("the gradient is the derivative of the loss") {
  const auto problem = regression_problem(
      features("gelu"), draw_gaussian<double>(trial, "W_sharp", sizes.m, sizes.k, 0.3));
  const arma::mat E = draw_gaussian<double>(trial, "E", sizes.m, sizes.k, 1.0);
  const arma::mat direction = draw_gaussian<double>(trial, "D", sizes.m, sizes.k, 1.0);
  const auto loss = [&](double t) { return problem.objective_gap(E + t * direction); };
  // The loss is quadratic, so the central difference is exact up to rounding.
  const double h = 1e-3;
  CHECK((loss(h) - loss(-h)) / (2 * h) ==
        doctest::Approx(arma::dot(problem.gradient(E), direction)).epsilon(1e-9));
}

TEST_CASE("with fewer samples than features, the surplus eigenvalues are exactly zero") {
  const FeatureSizes few{3, 12, 4, 5};
  const auto problem = regression_problem(draw_random_features(trial, few, "gelu", 0.5),
                                          arma::mat(3, 12, arma::fill::ones));
  CHECK(arma::accu(problem.lambda > 0) == 5);
  CHECK(arma::accu(problem.lambda < 0) == 0);
}

TEST_CASE("features are the activation of V X, entry by entry; a gated one multiplies by V2 X") {
  const arma::mat X = draw_gaussian<double>(trial, "X", sizes.d, sizes.n, 1.0),
                  V = draw_gaussian<double>(trial, "V", sizes.k, sizes.d, 0.4);
  const arma::mat Z = V * X;
  const arma::mat relu = features("relu"), swiglu = features("swiglu");
  const arma::mat gate = draw_gaussian<double>(trial, "V2", sizes.k, sizes.d, 0.4) * X;
  for (arma::uword i = 0; i < Z.n_elem; ++i) {
    CHECK(relu(i) == std::max(0.0, Z(i)));
    CHECK(swiglu(i) == doctest::Approx(Z(i) / (1 + std::exp(-Z(i))) * gate(i)).epsilon(1e-14));
  }
}

TEST_CASE("single precision uses the same matrices, rounded") {
  const arma::fmat single = draw_gaussian<float>(trial, "X", 4, 6, 2.0);
  const arma::mat full = draw_gaussian<double>(trial, "X", 4, 6, 2.0);
  for (arma::uword i = 0; i < full.n_elem; ++i) CHECK(single(i) == static_cast<float>(full(i)));
}

TEST_CASE("zero features give an undefined stable rank and zero constants") {
  const auto problem =
      regression_problem(arma::mat(3, 4, arma::fill::zeros), arma::mat(2, 3, arma::fill::ones));
  CHECK(std::isnan(problem.stable_rank_A));
  CHECK(problem.L_F == 0.0);
  CHECK(arma::approx_equal(problem.after_euclidean_step(problem.start), problem.start, "absdiff",
                           0.0));
}

}  // namespace random_features_test
