#include "nn/blocks/state_space.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "core/tolerances.hpp"
#include "gaussian.hpp"

namespace state_space_test {

using namespace ranklab;

namespace {

struct Inputs {
  arma::rowvec a;
  arma::mat B, C, X;
};

// a = -strength |g|: the memory is about 1 / strength tokens.
Inputs draw(arma::uword tokens, arma::uword n, arma::uword p, double strength) {
  return {arma::rowvec(-strength * arma::abs(gaussian(1, tokens, "a"))), gaussian(n, tokens, "B"),
          gaussian(n, tokens, "C"), gaussian(p, tokens, "X")};
}

// y_i = sum over j <= i of exp(a_{j+1} + ... + a_i) (c_i.b_j) x_j, term by term.
arma::mat by_definition(const Inputs& in) {
  arma::mat Y(in.X.n_rows, in.X.n_cols, arma::fill::zeros);
  for (arma::uword i = 0; i < in.X.n_cols; ++i) {
    double sum = 0;
    for (arma::uword j = i + 1; j-- > 0;) {
      double inner = 0;
      for (arma::uword s = 0; s < in.B.n_rows; ++s) inner += in.C(s, i) * in.B(s, j);
      for (arma::uword c = 0; c < in.X.n_rows; ++c) Y(c, i) += std::exp(sum) * inner * in.X(c, j);
      sum += in.a(j);
    }
  }
  return Y;
}

double relative(const arma::mat& Y, const arma::mat& expected) {
  return arma::norm(Y - expected, "fro") / arma::norm(expected, "fro");
}

template <class T>
arma::Mat<T> to(const arma::mat& X) {
  return arma::conv_to<arma::Mat<T>>::from(X);
}

}  // namespace

TEST_CASE(
    "chunks and matrix equal the sum over earlier tokens for any number of tokens and "
    "memory") {
  for (const arma::uword tokens : {1U, 2U, 63U, 64U, 65U, 128U, 200U}) {
    for (const double strength : {0.0, 0.01, 0.3, 5.0}) {
      CAPTURE(tokens);
      CAPTURE(strength);
      const Inputs in = draw(tokens, 5, 3, strength);
      const arma::mat expected = by_definition(in);
      CHECK(relative(ssd(in.a, in.B, in.C, in.X), expected) <= tolerance::residual<double>);
      CHECK(relative(in.X * ssd_matrix(in.a, in.B, in.C).t(), expected) <=
            tolerance::residual<double>);
    }
  }
}

TEST_CASE(
    "two tokens by hand: the diagonal has no decay, and the first token's factor has no effect") {
  const arma::rowvec a = {-7.0, std::log(0.5)};
  const arma::mat B = {{2.0, 3.0}}, C = {{1.0, 10.0}}, X = {{1.0, 1.0}};
  const arma::mat M = ssd_matrix(a, B, C), expected = {{2.0, 0.0}, {10.0, 30.0}};
  CHECK(relative(M, expected) <= tolerance::closed_form<double>);
  CHECK(relative(ssd(a, B, C, X), arma::mat{{2.0, 40.0}}) <= tolerance::closed_form<double>);
}

TEST_CASE("a strong decay, down to minus infinity, keeps only the current token, without NaN") {
  for (const double strength : {1e4, std::numeric_limits<double>::infinity()}) {
    Inputs in = draw(130, 4, 3, 1.0);
    in.a.fill(-strength);
    arma::mat expected = in.X;
    for (arma::uword t = 0; t < 130; ++t) expected.col(t) *= arma::dot(in.C.col(t), in.B.col(t));
    CHECK(relative(ssd(in.a, in.B, in.C, in.X), expected) <= tolerance::residual<double>);
    CHECK(relative(in.X * ssd_matrix(in.a, in.B, in.C).t(), expected) <=
          tolerance::residual<double>);
  }
}

TEST_CASE(
    "a reset inside a long memory removes earlier tokens exactly, and later ones lose no digit") {
  Inputs in = draw(100, 4, 3, 0.01);
  in.a(40) =
      -1e8;  // a difference of running sums would lose eight digits of the decays that follow
  const arma::mat Y = ssd(in.a, in.B, in.C, in.X), expected = by_definition(in);
  CHECK(relative(Y, expected) <= tolerance::residual<double>);
  CHECK(relative(in.X * ssd_matrix(in.a, in.B, in.C).t(), expected) <= tolerance::residual<double>);
  in.X.cols(0, 39).fill(1e6);
  CHECK(arma::approx_equal(ssd(in.a, in.B, in.C, in.X).tail_cols(60), Y.tail_cols(60), "absdiff",
                           0.0));
}

TEST_CASE("causality: a later token does not change any bit of an earlier output") {
  const Inputs before = draw(150, 4, 3, 0.1);
  Inputs after = before;
  after.a(100) = -3.0;
  after.B.col(100).fill(5.0), after.C.col(100).fill(-2.0), after.X.col(100).fill(7.0);
  const arma::mat Y = ssd(before.a, before.B, before.C, before.X),
                  Z = ssd(after.a, after.B, after.C, after.X);
  CHECK(arma::approx_equal(Y.head_cols(100), Z.head_cols(100), "absdiff", 0.0));
  for (arma::uword t = 100; t < 150; ++t) CHECK(arma::norm(Y.col(t) - Z.col(t)) > 0);
}

TEST_CASE_TEMPLATE("silu equals its definition in extended precision", T, float, double) {
  for (const arma::uword rows : {1U, 7U, 64U, 131U}) {
    const arma::mat drawn = 20 * gaussian(rows, 3, "Z");
    const arma::Mat<T> Z = to<T>(drawn);
    arma::Mat<T> values = Z;
    apply_silu(values);
    for (arma::uword i = 0; i < Z.n_elem; ++i) {
      const long double z = static_cast<long double>(Z(i)), expected = z / (1 + std::exp(-z));
      CHECK(std::fabs(static_cast<long double>(values(i)) - expected) <=
            4 * std::numeric_limits<T>::epsilon() * std::fabs(expected));
    }
  }
  arma::Mat<T> ends = {{T(0), T(1000), T(-1000)}};
  apply_silu(ends);
  CHECK(ends(0) == T(0));
  CHECK(ends(1) == T(1000));
  CHECK(std::fabs(ends(2)) < T(1e-30));
}

TEST_CASE(
    "causal convolution: the last tap acts on the current token, missing tokens are zero, channels "
    "are independent") {
  const arma::mat X = {{1, 2, 3, 4, 5}, {1, 0, 0, 0, 0}};
  const arma::mat w = {{1000, 100, 10}, {1, 2, 3}};
  const arma::vec bias = {0.5, -1};
  const arma::mat expected = {{10.5, 120.5, 1230.5, 2340.5, 3450.5}, {2, 1, 0, -1, -1}};
  CHECK(arma::approx_equal(causal_convolution(X, w, bias), expected, "absdiff", 0.0));
}

TEST_CASE("causal convolution works with fewer tokens than taps") {
  const arma::mat X = {{3, 4}}, w = {{1, 2, 5, 7}};
  CHECK(arma::approx_equal(causal_convolution(X, w, arma::vec{0.0}), arma::mat{{21, 43}}, "absdiff",
                           0.0));
}

}  // namespace state_space_test
