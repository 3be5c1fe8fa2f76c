#include "nn/blocks/norms.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "core/tolerances.hpp"
#include "gaussian.hpp"

namespace norms_residual_stream_test {

using namespace ranklab;

namespace {

template <class T>
State<T> state_of(const arma::mat& Y, double log2_scale = 0.0) {
  State<T> state;
  state.Y = arma::conv_to<arma::Mat<T>>::from(Y);
  state.log2_scale = log2_scale;
  return state;
}

// 2^s Y in double for any T.
template <class T>
arma::mat value(const State<T>& state) {
  return std::exp2(state.log2_scale) * arma::conv_to<arma::mat>::from(state.Y);
}

template <class T>
double error(const State<T>& state, const arma::mat& expected) {
  return arma::norm(value(state) - expected, "fro") / arma::norm(expected, "fro");
}

}  // namespace

TEST_CASE_TEMPLATE("residual stream: the result is lambda R + branch for any separate power of two",
                   T, float, double) {
  const arma::mat R = gaussian(4, 5, "R"), branch = gaussian(4, 5, "branch");
  const auto b = arma::conv_to<arma::Mat<T>>::from(branch);
  for (const double s : {0.0, 3.0, 30.0, -5.0}) {
    for (const double lambda : {1.0, -0.3, 0.0, 1e-15, 1e5}) {
      CAPTURE(s);
      CAPTURE(lambda);
      State<T> state = state_of<T>(R, s);
      state.add_branch(lambda, b);
      CHECK(error(state, std::exp2(s) * lambda * R + branch) <= tolerance::closed_form<T>);
    }
  }
}

TEST_CASE_TEMPLATE("residual stream: if a large stream shrinks again, its branch matters again", T,
                   float, double) {
  const arma::mat R = gaussian(4, 5, "R"), branch = gaussian(4, 5, "branch");
  const auto b = arma::conv_to<arma::Mat<T>>::from(branch);
  for (const double s : {200.0, 500.0}) {
    State<T> at_once = state_of<T>(R, s);
    at_once.add_branch(0.0, b);
    CHECK(at_once.log2_scale == 0);
    CHECK(error(at_once, branch) <= tolerance::closed_form<T>);

    State<T> slowly = state_of<T>(R, s);
    arma::mat expected = std::exp2(s) * R;
    for (int k = 0; k < 80; ++k) {
      slowly.add_branch(std::exp2(-10), b);
      slowly.keep_in_range();
      expected = std::exp2(-10) * expected + branch;
    }
    CHECK(error(slowly, expected) <= tolerance::closed_form<T>);
  }
}

TEST_CASE_TEMPLATE("residual stream: growth beyond the range of T is tracked", T, float, double) {
  State<T> state = state_of<T>(gaussian(4, 5, "R"));
  const arma::Mat<T> none(4, 5, arma::fill::zeros);
  for (int k = 0; k < 64; ++k) {
    state.add_branch(-std::exp2(18), none);
    state.keep_in_range();
    CHECK(static_cast<double>(arma::abs(state.Y).max()) <= 0x1p40);
  }
  // 2^(18 * 64) is beyond double's range too; powers of two are exact.
  const arma::Mat<T> expected = arma::conv_to<arma::Mat<T>>::from(gaussian(4, 5, "R"));
  const T factor = static_cast<T>(std::exp2(state.log2_scale - 1152));
  CHECK(arma::approx_equal(arma::Mat<T>(factor * state.Y), expected, "absdiff", 0.0));
}

TEST_CASE(
    "residual stream: streams of ordinary size keep their scale, and infinite ones stay infinite") {
  State<double> state = state_of<double>({{1.0, -0x1p40}});
  state.keep_in_range();
  CHECK(state.log2_scale == 0);
  state.Y(0) = 0x1.8p40;
  state.keep_in_range();
  CHECK(state.log2_scale == 41);
  CHECK(state.Y(0) == 0.75);
  State<double> infinite = state_of<double>({{1.0, std::numeric_limits<double>::infinity()}});
  infinite.keep_in_range();
  CHECK(std::isinf(infinite.Y(1)));
}

TEST_CASE_TEMPLATE("residual stream: the norm of Y with the scaled epsilon equals that of 2^s Y", T,
                   float, double) {
  const arma::mat R = gaussian(6, 5, "R");
  for (const double s : {0.0, 4.0, -3.0}) {
    const State<T> state = state_of<T>(R, s);
    arma::Mat<T> Y = state.Y;
    layer_norm(Y, state.scaled_epsilon(0.5));
    arma::mat expected = std::exp2(s) * R;
    layer_norm(expected, 0.5);
    CHECK(arma::norm(arma::conv_to<arma::mat>::from(Y) - expected, "fro") <=
          tolerance::closed_form<T> * arma::norm(expected, "fro"));
  }
  // Any norm maps a token with equal channels to 0, not to 0 / 0.
  for (const double s : {60.0, 600.0, 6000.0}) {
    const State<T> state = state_of<T>(arma::mat(6, 2, arma::fill::ones), s);
    arma::Mat<T> Y = state.Y;
    layer_norm(Y, state.scaled_epsilon(1e-12));
    CHECK(arma::all(arma::vectorise(Y) == T{0}));
  }
}

}  // namespace norms_residual_stream_test
