// The constants of Section 2.2, worked out by hand.
#include "experiments/one_step_compare/transformer_init.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numbers>

#include "core/tolerances.hpp"

namespace transformer_init_bounds_test {

using namespace ranklab::transformer_init;
namespace tolerance = ranklab::tolerance;

namespace {

constexpr double pi = std::numbers::pi;

doctest::Approx equal_to(double expected) {
  return doctest::Approx(expected).epsilon(tolerance::closed_form<double>);
}

}  // namespace

TEST_CASE("the small-ball constant of ReLU is half the normal tail beyond 1") {
  // Phi(1) = 0.84134474606854294859, from tables.
  CHECK(relu_small_ball() == equal_to((1 - 0.84134474606854294859) / 2));
}

TEST_CASE("the bounds of Proposition 2.14 equal values worked out by hand") {
  // At delta = 1/5, (1 + delta) / (1 - delta) = 3/2.
  const ColumnRange input{0.5, 3};
  const BlockBounds bounds = block_bounds(input, 2, 0.2);
  CHECK(bounds.A_rms == equal_to(12));
  CHECK(bounds.X_att == equal_to(15));  // 3/2 * 5 * 2
  CHECK(bounds.A_mlp_rms == equal_to(9.0 / 4 * 8 * 5 * 2));
  CHECK(bounds.B == equal_to(2 * pi));
  CHECK(bounds.X_plus == equal_to(3 * pi * (1 + 1.5 * 4 / relu_small_ball())));
  CHECK(output_columns(input, 0.2).low == equal_to(0.32));
  CHECK(output_columns(input, 0.2).high == equal_to(7.2));
  CHECK(attention_columns(input, 0.2).low == equal_to(0.4));
  CHECK(attention_columns(input, 0.2).high == equal_to(4.8));
  // The expected value is (3/2) (10 + 2) / max(4, 3).
  CHECK(residual_bound({10, 4}, {8, 12}, 0.25, 0.2) == equal_to(4.5));
}

TEST_CASE("the depth bounds apply the proposition block by block") {
  const std::uint64_t layers = 3;
  const double eps = 0.25;
  const DepthBounds depth = depth_bounds(layers, eps, 12);
  REQUIRE(depth.A_rms.size() == layers);
  // The recurrences of Appendix F, written out: c_- shrinks by (1 - delta)^2, and c_+ becomes (1 +
  // delta)^2 (c_+ + 2).
  double low = 0.75, high = 1.25, st = 20;
  for (std::size_t l = 0; l < layers; ++l) {
    CHECK(depth.X[l] == equal_to(st));
    CHECK(depth.A_rms[l] == equal_to(high / low * st));
    CHECK(depth.A_mlp_rms[l] ==
          equal_to(std::pow(25.0 / 23, 2) * (high + 1) / low * (1 + 2 / low) * st));
    st = 2 * pi * 25 / 23 * (1 + 25.0 / 23 * (high + 1) / relu_small_ball());
    low *= std::pow(23.0 / 24, 2);
    high = std::pow(25.0 / 24, 2) * (high + 2);
  }
  CHECK(depth.final_rms == equal_to(high / low * st));
}

}  // namespace transformer_init_bounds_test
