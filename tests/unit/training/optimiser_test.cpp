#include "training/optimiser.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "core/tolerances.hpp"
#include "linalg/decompositions.hpp"
#include "models/random_features.hpp"

using namespace ranklab;

namespace {

const Trial trial(9, 0, 0);

arma::mat gradient(int t) {
  return draw_gaussian<double>(trial, ("g" + std::to_string(t)).c_str(), 6, 3, 1.0);
}

Parameter<double> start() {
  return {"W", draw_gaussian<double>(trial, "W", 6, 3, 1.0)};
}

}  // namespace

TEST_CASE("Adam, entry by entry from the sums that its averages stand for") {
  const double lr = 0.1, decay = 0.3, b1 = 0.9, b2 = 0.95;
  Parameter<double> parameter = start();
  Optimiser<double> adam({.rule = Rule::adam, .decay = decay});
  arma::mat expected = parameter.W;
  for (int t = 1; t <= 5; ++t) {
    parameter.G = gradient(t);
    adam.step(parameter, lr);
    for (arma::uword i = 0; i < expected.n_elem; ++i) {
      double m = 0, v = 0, weight_m = 0, weight_v = 0;
      for (int s = 1; s <= t; ++s) {
        const double g = gradient(s)[i];
        m += std::pow(b1, t - s) * g, weight_m += std::pow(b1, t - s);
        v += std::pow(b2, t - s) * g * g, weight_v += std::pow(b2, t - s);
      }
      expected[i] -= lr * (m / weight_m / (std::sqrt(v / weight_v) + 1e-8) + decay * expected[i]);
    }
    CHECK(arma::approx_equal(parameter.W, expected, "absdiff", tolerance::trajectory<double>));
  }
}

TEST_CASE("SGD's momentum is the sum of all gradients, each forgotten by a twentieth a step") {
  Parameter<double> parameter = start();
  Optimiser<double> sgd({.rule = Rule::sgd});
  arma::mat expected = parameter.W;
  for (int t = 1; t <= 4; ++t) {
    parameter.G = gradient(t);
    sgd.step(parameter, 0.2);
    for (int s = 1; s <= t; ++s) expected -= 0.2 * std::pow(0.95, t - s) * gradient(s);
    CHECK(arma::approx_equal(parameter.W, expected, "absdiff", tolerance::trajectory<double>));
  }
}

TEST_CASE_TEMPLATE("polar steps have equal singular values: the rate times the root of the aspect ratio", T, float, double) {
  Parameter<T> parameter{"W", arma::Mat<T>(6, 3, arma::fill::zeros)};
  Optimiser<T> polar({.rule = Rule::polar});
  for (int t = 1; t <= 3; ++t) {
    parameter.G = arma::conv_to<arma::Mat<T>>::from(gradient(t));
    const arma::Mat<T> before = parameter.W;
    polar.step(parameter, 0.5);
    const arma::vec s = singular_values(arma::conv_to<arma::mat>::from(before - parameter.W));
    for (const double value : s) CHECK(std::fabs(value - 0.5 * std::sqrt(2.0)) <= 10 * tolerance::residual<T>);
  }
}

TEST_CASE("polar drops singular values below 1e-7 of the largest") {
  Parameter<double> parameter{"W", arma::mat(4, 4, arma::fill::zeros), arma::diagmat(arma::vec{1, 1e-6, 1e-8, 0})};
  Optimiser<double>({.rule = Rule::polar}).step(parameter, 1.0);
  const arma::vec expected = {-1, -1, 0, 0};
  CHECK(arma::approx_equal(parameter.W, arma::mat(arma::diagmat(expected)), "absdiff", tolerance::polar_agreement<double>));
}

TEST_CASE("the schedule climbs over the warm-up, stays, and falls to a tenth") {
  CHECK(trapezoid(0, 300) == 1.0 / 20);
  CHECK(trapezoid(9, 300) == 0.5);
  CHECK(trapezoid(19, 300) == 1.0);
  CHECK(trapezoid(180, 300) == 1.0);
  CHECK(std::fabs(trapezoid(240, 300) - 0.55) <= tolerance::closed_form<double>);
  CHECK(std::fabs(trapezoid(300, 300) - 0.1) <= tolerance::closed_form<double>);
  CHECK(trapezoid(3, 5) < 1.0);  // a run shorter than its warm-up
}
