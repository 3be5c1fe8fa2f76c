// Compares all activations of feed-forward networks with their values one by one, and their slopes
// with central differences.
#include "nn/layers/activation.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <type_traits>

#include "core/tolerances.hpp"
#include "ensembles/random_features.hpp"

namespace activation_test {

using namespace ranklab;

namespace {

const Streams trial(3, 0);

}  // namespace

TEST_CASE_TEMPLATE("values follow the definition of the activation and its gate", T, float,
                   double) {
  const arma::Mat<T> Z = draw_gaussian<T>(trial, "Z", 7, 30, 2.0),
                     M = draw_gaussian<T>(trial, "M", 7, 30, 1.0);
  for (const std::string& name : activation_names()) {
    CAPTURE(name);
    const Activation& sigma = find_activation(name);
    arma::Mat<T> slopes = Z, gate = M, S;
    activate(sigma, slopes, sigma.gated ? &gate : nullptr, S);
    for (arma::uword i = 0; i < Z.n_elem; ++i) {
      const double expected =
          sigma.value(static_cast<double>(Z[i])) * (sigma.gated ? static_cast<double>(M[i]) : 1.0);
      CHECK(std::fabs(static_cast<double>(S[i]) - expected) <=
            tolerance::closed_form<T> * std::max(1.0, std::fabs(expected)));
    }
  }
}

TEST_CASE("the backward pass agrees with central differences") {
  const arma::mat Z = draw_gaussian<double>(trial, "Z", 7, 30, 2.0),
                  M = draw_gaussian<double>(trial, "M", 7, 30, 1.0),
                  dS = draw_gaussian<double>(trial, "dS", 7, 30, 1.0);
  for (const std::string& name : activation_names()) {
    CAPTURE(name);
    const Activation& sigma = find_activation(name);
    const auto activated = [&](arma::mat& z, arma::mat& m) {
      arma::mat S;
      activate(sigma, z, sigma.gated ? &m : nullptr, S);
      return S;
    };
    const auto loss = [&](arma::mat z, arma::mat m) {
      return arma::mat(activated(z, m) % dS);  // one term per entry, independent of the others
    };
    const double h = 1e-5;
    arma::mat z = Z, m = M;
    activated(z, m);
    const arma::mat dM = m % dS;
    arma::mat dZ = dS;
    activate_backward(sigma, z, dZ);
    const arma::mat by_Z = (loss(Z + h, M) - loss(Z - h, M)) / (2 * h),
                    by_M = (loss(Z, M + h) - loss(Z, M - h)) / (2 * h);
    CHECK(arma::abs(dZ - by_Z).max() <= tolerance::central_difference);
    if (sigma.gated) CHECK(arma::abs(dM - by_M).max() <= tolerance::central_difference);
  }
}

TEST_CASE_TEMPLATE(
    "gelu and its derivative, z Phi(z) and Phi(z) + z phi(z), are accurate for all z", T, float,
    double) {
  // In single precision the largest error over all z is 4.3e-7, mostly from rounding between 2
  // and 8.
  const double limit = std::is_same_v<T, float> ? 5e-7 : tolerance::closed_form<double>;
  const arma::Mat<T> Z = arma::linspace<arma::Col<T>>(-10, 10, 200'001);
  arma::Mat<T> slopes = Z, S;
  activate<T>(find_activation("gelu"), slopes, nullptr, S);
  double value_error = 0, slope_error = 0;
  for (arma::uword i = 0; i < Z.n_elem; ++i) {
    const double z = static_cast<double>(Z[i]), Phi = std::erfc(-z / std::numbers::sqrt2) / 2;
    const double phi = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
    value_error = std::max(value_error, std::fabs(static_cast<double>(S[i]) - z * Phi));
    slope_error =
        std::max(slope_error, std::fabs(static_cast<double>(slopes[i]) - (Phi + z * phi)));
  }
  CHECK(value_error <= limit);
  CHECK(slope_error <= limit);
}

}  // namespace activation_test
