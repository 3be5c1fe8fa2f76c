#include "models/blocks/feed_forward_activation.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numbers>

#include "core/error.hpp"
#include "core/tolerances.hpp"

using namespace ranklab;

TEST_CASE("feed-forward activations: by their formulas") {
  const auto near = [](double value, double expected) {
    return std::abs(value - expected) <= tolerance::closed_form<double> * std::max(1.0, std::abs(expected));
  };
  for (const double x : {-30.0, -3.0, -0.7, 0.0, 1e-3, 1.0, 2.5, 40.0}) {
    CAPTURE(x);
    CHECK(near(find_feed_forward_activation("gelu")(x), x / 2 * (1 + std::erf(x / std::sqrt(2.0)))));
    // (1 + tanh u) / 2 = 1 / (1 + exp(-2 u))
    const double u = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * std::pow(x, 3));
    CHECK(near(find_feed_forward_activation("gelu-tanh")(x), x / (1 + std::exp(-2 * u))));
    CHECK(find_feed_forward_activation("relu")(x) == (x > 0 ? x : 0.0));
  }
  // The two GELUs differ by less than 5e-4 everywhere, and by more than 5e-5 at 2.
  const double difference = find_feed_forward_activation("gelu")(2.0) - find_feed_forward_activation("gelu-tanh")(2.0);
  CHECK(std::abs(difference) > 5e-5);
  CHECK(std::abs(difference) < 5e-4);
}

TEST_CASE("feed-forward activations: others are refused with those that are allowed") {
  CHECK(feed_forward_activations() == std::vector<std::string>{"gelu", "gelu-tanh", "relu"});
  for (const auto& name : feed_forward_activations()) CHECK_NOTHROW(find_feed_forward_activation(name));
  for (const std::string name : {"silu", "swiglu", "GELU", ""}) {
    CHECK_THROWS_WITH_AS(find_feed_forward_activation(name),
                         ("activation '" + name + "' is not allowed in a feed-forward net; allowed: gelu|gelu-tanh|relu").c_str(),
                         UsageError);
  }
}
