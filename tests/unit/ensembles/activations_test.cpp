#include "ensembles/activations.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numbers>

#include "core/error.hpp"
#include "core/tolerances.hpp"

namespace activations_test {

using namespace ranklab;

namespace {

double value(const char* name, double t) {
  return find_activation(name).value(t);
}

doctest::Approx close(double expected) {
  return doctest::Approx(expected).epsilon(tolerance::closed_form<double>);
}

}  // namespace

TEST_CASE("activations have their textbook values") {
  CHECK(value("relu", -2.0) == 0.0);
  CHECK(value("relu", 3.0) == 3.0);
  CHECK(value("abs", -2.5) == 2.5);
  CHECK(value("leaky-relu", 2.0) == 2.0);
  CHECK(value("leaky-relu", -2.0) == close(-0.2));
  CHECK(value("relu2", 3.0) == 9.0);
  CHECK(value("relu2", -3.0) == 0.0);
  CHECK(value("gelu", 1.0) == close(0.841344746068542949));
  CHECK(value("gelu", -1.0) == close(-0.158655253931457051));
  CHECK(value("silu", 1.0) == close(1.0 / (1.0 + std::exp(-1.0))));
  CHECK(value("swiglu", 1.0) == value("silu", 1.0));
  CHECK(value("tanh", 0.5) == close((std::exp(1.0) - 1.0) / (std::exp(1.0) + 1.0)));
  CHECK(value("identity", -4.0) == -4.0);
  CHECK(value("quadratic", -4.0) == 16.0);
}

TEST_CASE("gelu and silu keep their relative precision in the tails") {
  // t Phi(t) ~ -phi(t) (1 - 1/t^2 + 3/t^4 - ...) in the left tail; the alternating series brackets
  // the value.
  const double t = -30.0, density = std::exp(-0.5 * t * t) / std::sqrt(2.0 * std::numbers::pi);
  CHECK(value("gelu", t) < -density * (1.0 - 1.0 / (t * t)));
  CHECK(value("gelu", t) > -density);
  CHECK(value("silu", -1000.0) == 0.0);
  CHECK(value("silu", 1000.0) == 1000.0);
}

TEST_CASE("derivatives agree with central differences") {
  constexpr double h = 1e-5, tolerance = 1e-9;  // error h^2 |sigma'''|/6 + epsilon/h
  for (const auto& name : activation_names()) {
    const Activation& a = find_activation(name);
    for (const double t : {-3.1, -1.2, -0.3, 0.4, 1.1, 2.7}) {
      CAPTURE(name);
      CAPTURE(t);
      CHECK(std::fabs(a.derivative(t) - (a.value(t + h) - a.value(t - h)) / (2.0 * h)) < tolerance);
    }
    CHECK(std::isfinite(a.derivative(-800.0)));
  }
}

TEST_CASE(
    "the degree of homogeneity is right, and missing for activations that are not homogeneous") {
  for (const auto& name : activation_names()) {
    const Activation& a = find_activation(name);
    CAPTURE(name);
    if (a.degree > 0) {
      for (const double t : {-1.7, 0.6})
        CHECK(a.value(3.0 * t) == close(std::pow(3.0, a.degree) * a.value(t)));
    } else {
      const double growth = std::log2(a.value(2.0) / a.value(1.0)),
                   later = std::log2(a.value(4.0) / a.value(2.0));
      CHECK(std::fabs(growth - later) > 0.01);
    }
  }
}

TEST_CASE("apply works in place in both precisions") {
  std::vector<float> single = {-1.0f, 0.5f};
  std::vector<double> twofold = {-1.0, 0.5};
  apply(find_activation("gelu"), single);
  apply(find_activation("gelu"), twofold);
  CHECK(twofold[0] == value("gelu", -1.0));
  CHECK(twofold[1] == value("gelu", 0.5));
  CHECK(single[1] == static_cast<float>(twofold[1]));
}

TEST_CASE("activations are found by name; unknown names are refused with the list") {
  CHECK(activation_names().size() == 10);
  CHECK(find_activation("swiglu").gated);
  CHECK_FALSE(find_activation("silu").gated);
  CHECK_THROWS_AS(find_activation("rleu"), UsageError);
}

TEST_CASE("the values of Figure 12 are those printed") {
  using std::numbers::pi;
  for (const char* name : {"abs", "relu", "leaky-relu", "relu2", "gelu"}) {
    const auto row = printed_moments(name);
    REQUIRE(row);
    CAPTURE(name);
    for (const double s : {0.5, 1.0, 3.0})
      CHECK(row->nsr_bound(s) == close(row->beta / row->alpha(s)));
  }
  CHECK(printed_moments("leaky-relu")->nsr_bound(1.0) == close(pi * 1.01 / 0.81));
  CHECK(printed_moments("gelu")->nsr_bound(1.0) == close(4.0 * pi));
  CHECK(printed_moments("relu2")->power == 2);
  for (const char* name : {"silu", "tanh", "swiglu", "identity", "quadratic"})
    CHECK_FALSE(printed_moments(name));
}

TEST_CASE("feed-forward activations follow their formulas") {
  const auto near = [](double value, double expected) {
    return std::abs(value - expected) <=
           tolerance::closed_form<double> * std::max(1.0, std::abs(expected));
  };
  for (const double x : {-30.0, -3.0, -0.7, 0.0, 1e-3, 1.0, 2.5, 40.0}) {
    CAPTURE(x);
    CHECK(
        near(find_feed_forward_activation("gelu")(x), x / 2 * (1 + std::erf(x / std::sqrt(2.0)))));
    // (1 + tanh u) / 2 = 1 / (1 + exp(-2 u))
    const double u = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * std::pow(x, 3));
    CHECK(near(find_feed_forward_activation("gelu-tanh")(x), x / (1 + std::exp(-2 * u))));
    CHECK(find_feed_forward_activation("relu")(x) == (x > 0 ? x : 0.0));
  }
  // The two GELUs differ by less than 5e-4 everywhere, and by more than 5e-5 at 2.
  const double difference =
      find_feed_forward_activation("gelu")(2.0) - find_feed_forward_activation("gelu-tanh")(2.0);
  CHECK(std::abs(difference) > 5e-5);
  CHECK(std::abs(difference) < 5e-4);
}

TEST_CASE("other feed-forward activations are refused with the list of allowed ones") {
  CHECK(feed_forward_activations() == std::vector<std::string>{"gelu", "gelu-tanh", "relu"});
  for (const auto& name : feed_forward_activations())
    CHECK_NOTHROW(find_feed_forward_activation(name));
  for (const std::string name : {"silu", "swiglu", "GELU", ""}) {
    CHECK_THROWS_WITH_AS(find_feed_forward_activation(name),
                         ("activation '" + name +
                          "' is not allowed in a feed-forward net; allowed: gelu|gelu-tanh|relu")
                             .c_str(),
                         UsageError);
  }
}

}  // namespace activations_test
