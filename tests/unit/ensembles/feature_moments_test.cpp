#include "ensembles/feature_moments.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numbers>
#include <string>

#include "core/error.hpp"
#include "core/random.hpp"
#include "core/tolerances.hpp"

namespace feature_moments_test {

using namespace ranklab;
using std::numbers::pi;

namespace {

const std::vector<std::string> pointwise = {"relu", "abs",  "leaky-relu", "relu2",    "gelu",
                                            "silu", "tanh", "identity",   "quadratic"};

// E sigma(g) sigma(t g + sqrt(1 - t^2) h) by the midpoint rule over the plane in polar coordinates.
// Rays from the origin meet a kink only at their ends. Uses neither closed forms nor Hermite
// polynomials.
double product_expectation(const Activation& a, double t) {
  constexpr int rays = 4000, radii = 400;
  constexpr double reach = 11.0;
  double sum = 0.0;
  for (int i = 0; i < rays; ++i) {
    const double angle = 2.0 * pi * (i + 0.5) / rays;
    const double along = std::cos(angle),
                 across = t * std::cos(angle) + std::sqrt(1.0 - t * t) * std::sin(angle);
    for (int j = 0; j < radii; ++j) {
      const double r = reach * (j + 0.5) / radii;
      sum += a.value(r * along) * a.value(r * across) * std::exp(-0.5 * r * r) * r;
    }
  }
  return sum * reach / (rays * static_cast<double>(radii));
}

arma::mat gaussian(const char* name, arma::uword rows, arma::uword columns, double deviation) {
  arma::mat G(rows, columns);
  Stream stream(5, 0, name);
  stream.fill_normal({G.memptr(), G.n_elem}, deviation);
  return G;
}

}  // namespace

TEST_CASE(
    "phi of relu follows the paper's formula; those of identity and quadratic are t and t^2") {
  for (const double t : {-1.0, -0.7, -0.1, 0.0, 0.2, 0.9, 1.0}) {
    CAPTURE(t);
    const auto close = [](double x) {
      return doctest::Approx(x).epsilon(tolerance::residual<double>).scale(1.0);
    };
    CHECK(feature_phi(find_activation("relu"), t) ==
          close(std::sqrt(1.0 - t * t) + (pi - std::acos(t)) * t - 1.0));
    CHECK(feature_phi(find_activation("identity"), t) == close(2.0 * pi * t));
    CHECK(feature_phi(find_activation("quadratic"), t) == close(4.0 * pi * t * t));
  }
}

TEST_CASE("phi of every activation equals the integral over the plane") {
  for (const auto& name : pointwise) {
    const Activation& a = find_activation(name);
    const double mean = hermite_coefficients(a, 1.0, 1).at(0);
    for (const double t : {-0.8, 0.3, 0.95}) {
      CAPTURE(name);
      CAPTURE(t);
      // The midpoint rule is of second order: the error is about 1e-5 here.
      CHECK(feature_phi(a, t) ==
            doctest::Approx(2.0 * pi * (product_expectation(a, t) - mean * mean))
                .epsilon(1e-4)
                .scale(1.0));
    }
  }
}

TEST_CASE(
    "derivatives of phi at 0 match the paper for relu and finite differences for the others") {
  const std::vector<double> relu = feature_phi_derivatives(find_activation("relu"), 6);
  const std::vector<double> paper = {0.0, pi / 2.0, 1.0, 0.0, 1.0, 0.0};
  for (std::size_t m = 0; m < 6; ++m) {
    CAPTURE(m);
    CHECK(relu[m] == doctest::Approx(paper[m]).epsilon(1e-10).scale(1.0));
  }
  constexpr double h = 1e-3;
  for (const auto& name : pointwise) {
    CAPTURE(name);
    const Activation& a = find_activation(name);
    const std::vector<double> d = feature_phi_derivatives(a, 3);
    const double up = feature_phi(a, h), down = feature_phi(a, -h);
    CHECK(d[1] == doctest::Approx((up - down) / (2.0 * h)).epsilon(1e-5).scale(1.0));
    CHECK(d[2] == doctest::Approx((up + down) / (h * h)).epsilon(1e-5).scale(1.0));
  }
}

TEST_CASE("the Taylor polynomial of phi is right") {
  CHECK(taylor_polynomial({2.0, 3.0, 5.0, 12.0}, 0.5) ==
        doctest::Approx(2.0 + 1.5 + 0.625 + 0.25).epsilon(1e-14));
  CHECK(taylor_polynomial({}, 0.5) == 0.0);
}

TEST_CASE("Hermite coefficients: relu's first three are known, homogeneity and Parseval hold") {
  const std::vector<double> c = hermite_coefficients(find_activation("relu"), 2.0, 4);
  const auto close = [](double x) { return doctest::Approx(x).epsilon(1e-12).scale(1.0); };
  CHECK(c[0] == close(2.0 / std::sqrt(2.0 * pi)));
  CHECK(c[1] == close(1.0));
  CHECK(c[2] == close(1.0 / std::sqrt(pi)));
  CHECK(c[3] == close(0.0));
  // tanh(g)^2 = 1 - sech(g)^2: the sum of squares is E tanh^2, here by Simpson's rule.
  double sum = 0.0, simpson = 0.0;
  for (const double x : hermite_coefficients(find_activation("tanh"), 1.5, 96)) sum += x * x;
  for (int i = -4000; i <= 4000; ++i) {
    const double g = i * 0.0025;
    simpson += (i % 2 != 0 ? 4.0 : 2.0) / 3.0 * 0.0025 * std::pow(std::tanh(1.5 * g), 2) *
               std::exp(-0.5 * g * g);
  }
  CHECK(sum == doctest::Approx(simpson / std::sqrt(2.0 * pi)).epsilon(1e-7));
}

TEST_CASE("mean and covariance of relu features on rows at known angles") {
  const arma::mat V = {{2.0, 0.0}, {0.0, 3.0}, {-1.0, 0.0}, {0.0, 0.0}, {1.0, 1.0}};
  const arma::vec mean = feature_mean(find_activation("relu"), V);
  const arma::mat S = feature_covariance(find_activation("relu"), V);
  const auto close = [](double x) {
    return doctest::Approx(x).epsilon(tolerance::residual<double>).scale(1.0);
  };
  const double root = 1.0 / std::sqrt(2.0 * pi);
  for (const auto& [i, norm] :
       std::vector<std::pair<arma::uword, double>>{{0, 2.0}, {1, 3.0}, {2, 1.0}, {3, 0.0}}) {
    CHECK(mean(i) == close(norm * root));
    CHECK(S(i, i) == close(norm * norm * (0.5 - 0.5 / pi)));
  }
  CHECK(S(0, 1) == close(0.0));  // orthogonal rows are independent
  CHECK(S(0, 2) ==
        close(-2.0 /
              (2.0 *
               pi)));  // never positive together: the covariance is minus the product of the means
  CHECK(S(3, 4) == 0.0);
  // 45 degrees: E relu(g) relu(h) = (sin + (pi - pi/4) cos) / (2 pi).
  CHECK(S(0, 4) ==
        close(2.0 * std::sqrt(2.0) / (2.0 * pi) * (std::sqrt(0.5) * (1.0 + 0.75 * pi) - 1.0)));
  CHECK(arma::approx_equal(S, S.t(), "absdiff", 0.0));
}

TEST_CASE("mean, covariance and cross-covariance of every activation agree with samples") {
  constexpr arma::uword n = 40000;
  const arma::mat X = gaussian("X", 3, n, 1.0), V = gaussian("V", 4, 3, 0.6),
                  V_bar = gaussian("V-bar", 2, 3, 0.6);
  for (const auto& name : pointwise) {
    CAPTURE(name);
    const Activation& a = find_activation(name);
    arma::mat A = V * X, A_bar = V_bar * X;
    apply(a, A);
    apply(a, A_bar);
    const arma::vec mean = feature_mean(a, V), mean_bar = feature_mean(a, V_bar);
    const arma::mat S = feature_covariance(a, V), C = feature_cross_covariance(a, V_bar, V);
    const auto check = [&](const arma::rowvec& samples, double expected) {
      const double error = arma::stddev(samples) / std::sqrt(static_cast<double>(n));
      CHECK(std::fabs(arma::mean(samples) - expected) <= tolerance::standard_errors * error);
    };
    for (arma::uword j = 0; j < 4; ++j) {
      const arma::rowvec centered = A.row(j) - mean(j);
      check(centered, 0.0);
      for (arma::uword i = 0; i < 4; ++i) check((A.row(i) - mean(i)) % centered, S(i, j));
      for (arma::uword i = 0; i < 2; ++i) check((A_bar.row(i) - mean_bar(i)) % centered, C(i, j));
    }
  }
}

TEST_CASE("the cross-covariance of a matrix with itself equals its covariance") {
  const arma::mat V = gaussian("V", 6, 5, 0.5);
  for (const auto& name : pointwise) {
    CAPTURE(name);
    const Activation& a = find_activation(name);
    CHECK(arma::approx_equal(feature_cross_covariance(a, V, V), feature_covariance(a, V), "absdiff",
                             1e-7));
  }
}

TEST_CASE("invalid arguments are refused") {
  const arma::mat V(2, 3, arma::fill::ones);
  CHECK_THROWS_AS(feature_phi(find_activation("swiglu"), 0.0), UsageError);
  CHECK_THROWS_AS(feature_mean(find_activation("swiglu"), V), UsageError);
  CHECK_THROWS_AS(feature_covariance(find_activation("swiglu"), V), UsageError);
  CHECK_THROWS_AS(
      feature_cross_covariance(find_activation("relu"), V, arma::mat(2, 4, arma::fill::ones)),
      Failure);
}

}  // namespace feature_moments_test
