// The quadratic form against loops over entries, and against least squares, where it is exact.
#include "linalg/kronecker.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "core/tolerances.hpp"
#include "ensembles/random_features.hpp"

namespace kronecker_test {

using namespace ranklab;

namespace {

const Streams trial(5, 0);

arma::mat gaussian(const char* name, arma::uword rows, arma::uword columns) {
  return draw_gaussian<double>(trial, name, rows, columns, 1.0);
}

}  // namespace

TEST_CASE("tr(D M D' B) is the quadruple sum over its entries") {
  const arma::mat D = gaussian("D", 3, 5), A = gaussian("A", 5, 9), E = gaussian("E", 3, 9),
                  M = A * A.t(), B = E * E.t();
  double expected = 0, diagonal = 0;
  for (arma::uword i = 0; i < 3; ++i) {
    for (arma::uword j = 0; j < 3; ++j) {
      for (arma::uword p = 0; p < 5; ++p) {
        for (arma::uword q = 0; q < 5; ++q) {
          const double term = B(i, j) * D(i, p) * M(p, q) * D(j, q);
          expected += term;
          if (p == q) diagonal += term;
        }
      }
    }
  }
  CHECK(std::fabs(kronecker_form(D, M, B) / expected - 1) <= tolerance::closed_form<double>);
  CHECK(std::fabs(kronecker_form(D, M.diag(), B) / diagonal - 1) <= tolerance::closed_form<double>);
}

TEST_CASE("the best step of least squares, whose outputs have the curvature 1 / n") {
  // L(W) = ||W A - Y||_F^2 / (2 n): G = (W A - Y) A' / n, and the Hessian is I (x) A A' / n.
  const arma::uword n = 40;
  const arma::mat A = gaussian("A", 5, n), Y = gaussian("Y", 3, n), W = gaussian("W", 3, 5),
                  D = gaussian("D", 3, 5), B = arma::eye(3, 3) / n;
  const auto loss = [&](const arma::mat& at) {
    return arma::accu(arma::square(at * A - Y)) / (2.0 * n);
  };
  const arma::mat G = (W * A - Y) * A.t() / n, along = arma::dot(G, D) > 0 ? D : arma::mat(-D);
  const BestStep step = best_step(arma::dot(G, along), kronecker_form(along, A * A.t(), B));
  CHECK(std::fabs(loss(W) - loss(W - step.length * along) - step.decrease) <=
        tolerance::closed_form<double> * loss(W));
  for (const double other : {0.9, 1.1})
    CHECK(loss(W - other * step.length * along) > loss(W - step.length * along));
}

TEST_CASE("a direction along which the loss rises has no best step") {
  CHECK(std::isnan(best_step(-1, 1).length));
  CHECK(std::isnan(best_step(1, 0).decrease));
  CHECK(std::isnan(best_step(std::nan(""), 1).decrease));
}

}  // namespace kronecker_test
