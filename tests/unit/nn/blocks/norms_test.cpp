// Compares the normalizations with their formulas, entry by entry.
#include "nn/blocks/norms.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "core/error.hpp"
#include "core/tolerances.hpp"
#include "gaussian.hpp"
#include "nn/blocks/model_spec.hpp"

namespace norms_test {

using namespace ranklab;

namespace {

constexpr arma::uword d = 9, N = 6;

template <class T>
arma::Mat<T> tokens() {
  return arma::conv_to<arma::Mat<T>>::from(arma::mat(3.0 * gaussian(d, N, "Y") + 0.7));
}

template <class T>
arma::Col<T> gaussian_vector(const char* name) {
  return arma::conv_to<arma::Col<T>>::from(arma::vec(gaussian(d, 1, name)));
}

template <class T>
double largest_difference(const arma::Mat<T>& Y, const arma::mat& expected) {
  return arma::abs(arma::conv_to<arma::mat>::from(Y) - expected).max();
}

// Mean and population variance of token t.
struct Moments {
  double mean = 0, variance = 0, square = 0;
};
Moments moments(const arma::mat& Y, arma::uword t) {
  Moments m;
  const double size = static_cast<double>(Y.n_rows);
  for (arma::uword r = 0; r < Y.n_rows; ++r) m.mean += Y(r, t) / size;
  for (arma::uword r = 0; r < Y.n_rows; ++r) {
    m.variance += (Y(r, t) - m.mean) * (Y(r, t) - m.mean) / size;
    m.square += Y(r, t) * Y(r, t) / size;
  }
  return m;
}

}  // namespace

TEST_CASE_TEMPLATE("norms: D divides every token by its Euclidean norm", T, double, float) {
  arma::Mat<T> Y = tokens<T>();
  arma::mat expected = arma::conv_to<arma::mat>::from(Y);
  for (arma::uword t = 0; t < N; ++t) {
    double square = 0;
    for (arma::uword r = 0; r < d; ++r) square += expected(r, t) * expected(r, t);
    for (arma::uword r = 0; r < d; ++r) expected(r, t) /= std::sqrt(square);
  }
  CHECK(normalize_rows(Y) == 0);
  CHECK(largest_difference(Y, expected) < tolerance::closed_form<T>);
  for (arma::uword t = 0; t < N; ++t)
    CHECK(std::abs(arma::norm(Y.col(t)) - 1) < tolerance::closed_form<T>);
  // The result does not depend on the size of a token.
  arma::Mat<T> scaled = static_cast<T>(1e-6) * tokens<T>();
  CHECK(normalize_rows(scaled) == 0);
  CHECK(largest_difference(scaled, expected) < tolerance::closed_form<T>);
}

TEST_CASE_TEMPLATE("norms: D makes tokens of norm under 1e-10 zero and counts them", T, double,
                   float) {
  arma::Mat<T> Y = tokens<T>();
  Y.col(1).zeros();
  Y.col(3) *= static_cast<T>(1e-11) / arma::norm(Y.col(3));
  Y.col(4) *= static_cast<T>(1e-9) / arma::norm(Y.col(4));
  State<T> state{Y, 0.0, 5};
  state.normalize(Norm::rows);
  CHECK(state.degenerate_rows == 7);
  CHECK(state.Y.col(1).is_zero());
  CHECK(state.Y.col(3).is_zero());
  for (const arma::uword t : {0u, 2u, 4u, 5u})
    CHECK(std::abs(arma::norm(state.Y.col(t)) - 1) < tolerance::closed_form<T>);
  state.normalize(Norm::rows);  // a zero token stays zero and counts again
  CHECK(state.degenerate_rows == 9);
}

TEST_CASE_TEMPLATE("norms: layer norm follows its formula and gives mean 0 and variance 1", T,
                   double, float) {
  const arma::mat Y = arma::conv_to<arma::mat>::from(tokens<T>());
  const arma::Col<T> gain = gaussian_vector<T>("gain"), bias = gaussian_vector<T>("bias");
  for (const double epsilon : {1e-12, 1e-5, 0.5}) {
    CAPTURE(epsilon);
    arma::mat expected = Y, with_both = Y;
    for (arma::uword t = 0; t < N; ++t) {
      const Moments m = moments(Y, t);
      for (arma::uword r = 0; r < d; ++r) {
        expected(r, t) = (Y(r, t) - m.mean) / std::sqrt(m.variance + epsilon);
        with_both(r, t) =
            static_cast<double>(gain(r)) * expected(r, t) + static_cast<double>(bias(r));
      }
    }
    arma::Mat<T> plain = tokens<T>(), both = tokens<T>(), gain_alone = tokens<T>();
    layer_norm<T>(plain, epsilon);
    layer_norm<T>(both, epsilon, &gain, &bias);
    layer_norm<T>(gain_alone, epsilon, &gain);
    CHECK(largest_difference(plain, expected) < tolerance::closed_form<T>);
    CHECK(largest_difference(both, with_both) < tolerance::closed_form<T>);
    with_both.each_col() -= arma::conv_to<arma::vec>::from(bias);
    CHECK(largest_difference(gain_alone, with_both) < tolerance::closed_form<T>);
  }
  State<T> state{tokens<T>(), 0.0, 0};
  state.normalize(Norm::layer);
  for (arma::uword t = 0; t < N; ++t) {
    const Moments before = moments(Y, t),
                  after = moments(arma::conv_to<arma::mat>::from(state.Y), t);
    CHECK(std::abs(after.mean) < tolerance::closed_form<T>);
    CHECK(std::abs(after.variance - before.variance / (before.variance + 1e-5)) <
          tolerance::closed_form<T>);
  }
}

TEST_CASE_TEMPLATE("norms: RMSNorm follows its formula", T, double, float) {
  const arma::mat Y = arma::conv_to<arma::mat>::from(tokens<T>());
  const arma::Col<T> gain = gaussian_vector<T>("gain");
  for (const double epsilon : {1e-5, 0.5}) {
    arma::mat expected = Y, with_gain = Y;
    for (arma::uword t = 0; t < N; ++t) {
      const double root = std::sqrt(moments(Y, t).square + epsilon);
      for (arma::uword r = 0; r < d; ++r) {
        expected(r, t) = Y(r, t) / root;
        with_gain(r, t) = static_cast<double>(gain(r)) * expected(r, t);
      }
    }
    arma::Mat<T> plain = tokens<T>(), gained = tokens<T>();
    rms_norm<T>(plain, epsilon);
    rms_norm<T>(gained, epsilon, &gain);
    CHECK(largest_difference(plain, expected) < tolerance::closed_form<T>);
    CHECK(largest_difference(gained, with_gain) < tolerance::closed_form<T>);
    State<T> state{tokens<T>(), 0.0, 0};
    state.normalize(Norm::rms);
    if (epsilon == 1e-5) CHECK(largest_difference(state.Y, expected) < tolerance::closed_form<T>);
  }
}

TEST_CASE_TEMPLATE("norms: zero tokens stay finite, and the norm 'none' changes nothing", T, double,
                   float) {
  State<T> state{arma::Mat<T>(d, 2, arma::fill::zeros), 0.0, 0};
  for (const Norm norm : {Norm::layer, Norm::rms}) {
    state.normalize(norm);
    CHECK(state.Y.is_zero());
  }
  CHECK(state.degenerate_rows == 0);
  state.Y = tokens<T>();
  state.normalize(Norm::none);
  CHECK(arma::approx_equal(state.Y, tokens<T>(), "absdiff", T{0}));
}

TEST_CASE("norms: norms are found by name") {
  CHECK(find_norm("rows") == Norm::rows);
  CHECK(find_norm("layer") == Norm::layer);
  CHECK(find_norm("rms") == Norm::rms);
  CHECK(find_norm("none") == Norm::none);
  for (const char* name : {model_default, "Rows", ""}) {
    try {
      find_norm(name);
      FAIL("accepted");
    } catch (const UsageError& error) {
      CHECK(std::string(error.what()).starts_with("--norm: "));
    }
  }
}

TEST_CASE_TEMPLATE("norms: rescaling moves a power of two exactly", T, double, float) {
  for (const double factor : {1.0, 0.4, 3e30, 7e-30}) {
    CAPTURE(factor);
    State<T> state{static_cast<T>(factor) * tokens<T>(), 3.0, 0};
    const arma::Mat<T> before = state.Y;
    state.rescale();
    const double largest = static_cast<double>(arma::abs(state.Y).max());
    CHECK(largest >= 0.5);
    CHECK(largest < 1);
    for (arma::uword i = 0; i < before.n_elem; ++i) {
      CHECK(std::ldexp(state.Y(i), static_cast<int>(state.log2_scale) - 3) == before(i));
    }
    const State<T> once = state;
    state.rescale();  // nothing is left to move
    CHECK(state.log2_scale == once.log2_scale);
    CHECK(arma::approx_equal(state.Y, once.Y, "absdiff", T{0}));
  }
  State<T> exact{arma::Mat<T>{{1, -4}}, 0.0, 0};  // 4 = 2^3 / 2
  exact.rescale();
  CHECK(exact.log2_scale == 3);
  CHECK(exact.Y(1) == T{-0.5});
}

TEST_CASE_TEMPLATE("norms: a zero or non-finite state is not rescaled", T, double, float) {
  State<T> zero{arma::Mat<T>(2, 2, arma::fill::zeros), 1.0, 0};
  zero.rescale();
  CHECK(zero.log2_scale == 1);
  CHECK(zero.Y.is_zero());
  State<T> infinite{arma::Mat<T>{{T{4}, std::numeric_limits<T>::infinity()}}, 1.0, 0};
  infinite.rescale();
  CHECK(infinite.log2_scale == 1);
  CHECK(infinite.Y(0) == T{4});
}

}  // namespace norms_test
