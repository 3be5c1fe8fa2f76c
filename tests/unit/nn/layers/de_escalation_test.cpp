// Compares de-escalation with the matrix D = I - tau C of a sequence: Y = X D', dX = G D.
#include "nn/layers/de_escalation.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "core/tolerances.hpp"
#include "nn/de_escalated_models.hpp"
#include "nn/layers/mixer_checks.hpp"

namespace de_escalation_test {

using namespace de_escalated_models;
using mixer_checks::relative;

namespace {

constexpr arma::uword d = 3, sequences = 4;

void for_each_variant(const std::function<void(const DeEscalation&)>& visit) {
  for (const MeanOver mean : means) {
    for (const double tau : {0.3, 1.0}) {
      for (const arma::uword length : {1u, 2u, 7u}) {
        CAPTURE(static_cast<int>(mean));
        CAPTURE(tau);
        CAPTURE(length);
        visit({.tau = tau, .mean = mean, .length = length});
      }
    }
  }
}

arma::mat drawn(const DeEscalation& of, const char* name) {
  return gaussian(d, sequences * of.length, name);
}

template <class T = double>
arma::Mat<T> forward(const DeEscalation& of, arma::Mat<T> X) {
  of.forward(X);
  return X;
}

template <class T = double>
arma::Mat<T> backward(const DeEscalation& of, arma::Mat<T> G) {
  of.backward(G);
  return G;
}

/// X times M (T, T), sequence by sequence.
arma::mat times(arma::mat X, const arma::mat& M) {
  for (arma::uword first = 0; first < X.n_cols; first += M.n_cols) {
    const arma::span tokens(first, first + M.n_cols - 1);
    X.cols(tokens.a, tokens.b) = (X.cols(tokens.a, tokens.b) * M).eval();
  }
  return X;
}

}  // namespace

TEST_CASE(
    "de-escalation applies I - tau C to each sequence, and its backward pass applies the "
    "transpose") {
  for_each_variant([](const DeEscalation& of) {
    const arma::mat X = drawn(of, "X"), G = drawn(of, "G"), D = de_escalation_matrix(of);
    // An absolute error, as a single token minus itself is 0, and so is its gradient.
    CHECK(arma::approx_equal(forward(of, X), times(X, D.t()), "absdiff",
                             tolerance::closed_form<double>));
    CHECK(arma::approx_equal(backward(of, G), times(G, D), "absdiff",
                             tolerance::closed_form<double>));
    CHECK(std::fabs(arma::dot(G, forward(of, X)) - arma::dot(backward(of, G), X)) <=
          tolerance::closed_form<double> * arma::norm(G, "fro") * arma::norm(X, "fro"));
  });
}

TEST_CASE("a learned tau: its gradient is -<G, X C'>, and X gets the same as with a fixed tau") {
  for_each_variant([](DeEscalation of) {
    const arma::mat X = drawn(of, "X"), G = drawn(of, "G"), D = de_escalation_matrix(of),
                    C = (arma::mat(of.length, of.length, arma::fill::eye) - D) / of.tau;
    Parameter<double> tau{.name = "tau", .W = arma::mat{of.tau}, .G = arma::mat{2.0}};
    of.learns_tau = true;
    of.tau = 0.7;  // the initial value, which no longer matters
    MeanRemoval<double> removal;
    arma::mat Y = X, dX = G;
    removal.forward(of, tau, Y);
    removal.backward(of, tau, dX);
    CHECK(arma::approx_equal(Y, times(X, D.t()), "absdiff", tolerance::closed_form<double>));
    CHECK(arma::approx_equal(dX, times(G, D), "absdiff", tolerance::closed_form<double>));
    CHECK(std::fabs(tau.G(0) - 2 + arma::dot(G, times(X, C.t()))) <=
          tolerance::closed_form<double> * arma::norm(G, "fro") * arma::norm(X, "fro"));
  });
}

TEST_CASE("de-escalation in single precision agrees with double precision") {
  for_each_variant([](const DeEscalation& of) {
    const arma::mat X = drawn(of, "X"), D = de_escalation_matrix(of);
    const arma::fmat x = arma::conv_to<arma::fmat>::from(X);
    const auto close = [](const arma::fmat& found, const arma::mat& expected) {
      return arma::approx_equal(arma::conv_to<arma::mat>::from(found), expected, "absdiff",
                                tolerance::closed_form<float>);
    };
    CHECK(close(forward(of, x), times(X, D.t())));
    CHECK(close(backward(of, x), times(X, D)));
  });
}

TEST_CASE(
    "at tau = 1, segment means become 0; a prefix mean makes the first token 0, a strict mean "
    "keeps it") {
  for (const arma::uword length : {1u, 2u, 7u}) {
    CAPTURE(length);
    DeEscalation of{.tau = 1, .mean = MeanOver::segment, .length = length};
    const arma::mat X = drawn(of, "X"), segment = forward(of, X);
    of.mean = MeanOver::prefix;
    const arma::mat prefix = forward(of, X);
    of.mean = MeanOver::strict;
    const arma::mat strict = forward(of, X);
    for (arma::uword first = 0; first < X.n_cols; first += length) {
      const arma::vec total = arma::sum(segment.cols(first, first + length - 1), 1);
      CHECK(arma::norm(total) <= tolerance::closed_form<double> * static_cast<double>(length));
      CHECK(arma::all(prefix.col(first) == 0.0));
      CHECK(arma::all(strict.col(first) == X.col(first)));
      // The second token by hand: minus (x_1 + x_2) / 2, or minus x_1.
      if (length == 1) continue;
      const arma::vec apart = X.col(first + 1) - X.col(first);
      CHECK(relative(prefix.col(first + 1), apart / 2) <= tolerance::closed_form<double>);
      CHECK(relative(strict.col(first + 1), apart) <= tolerance::closed_form<double>);
    }
  }
}

TEST_CASE(
    "with prefix and strict means, outputs do not depend on later tokens and no gradient reaches "
    "them, bit by bit") {
  for_each_variant([](const DeEscalation& of) {
    if (of.length == 1) return;
    const arma::uword last = of.length - 1;
    const bool depends = of.mean == MeanOver::segment;
    arma::mat X = drawn(of, "X"), G(d, of.length, arma::fill::zeros);
    const arma::mat Y = forward(of, X);
    X.col(last) *= -1.5;
    const arma::mat Z = forward(of, X);
    for (arma::uword t = 0; t < last; ++t) {
      CHECK(arma::approx_equal(Y.col(t), Z.col(t), "absdiff", 0.0) != depends);
      CHECK(arma::approx_equal(Y.col(of.length + t), Z.col(of.length + t), "absdiff", 0.0));
    }
    G.col(0).ones();
    CHECK(arma::any(arma::vectorise(backward(of, G).cols(1, last)) != 0.0) == depends);
  });
}

}  // namespace de_escalation_test
