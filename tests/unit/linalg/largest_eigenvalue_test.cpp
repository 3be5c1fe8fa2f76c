#include "linalg/largest_eigenvalue.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "core/error.hpp"
#include "core/tolerances.hpp"
#include "gaussian.hpp"
#include "linalg/decompositions.hpp"

namespace largest_eigenvalue_test {

using namespace ranklab;

// An upper bound on the sum of the residual tolerance and LAPACK's own error.
constexpr double agreement = 2 * tolerance::lanczos_residual;

namespace {

arma::mat orthogonal(arma::uword n, const char* name) {
  return thin_svd(gaussian(n, n, name)).U;
}

void check_against_lapack(const arma::mat& S) {
  CAPTURE(S.n_rows);
  CHECK(largest_eigenvalue(S) ==
        doctest::Approx(symmetric_eigenvalues(S).max()).epsilon(agreement));
}

}  // namespace

TEST_CASE(
    "the largest eigenvalue agrees with LAPACK's for flat, spiked, rank-deficient and small Gram "
    "matrices") {
  const arma::mat A = gaussian(500, 600, "A");
  check_against_lapack(A * A.t());
  const arma::mat with_mean = A + 1.0;
  check_against_lapack(with_mean * with_mean.t());
  const arma::mat thin = gaussian(400, 3, "thin");
  check_against_lapack(thin * thin.t());
  const arma::mat small = gaussian(40, 90, "small");
  check_against_lapack(small * small.t());
}

TEST_CASE(
    "the largest eigenvalue is found if it is repeated, close to the next one or in a small "
    "block") {
  const arma::mat Q = orthogonal(400, "Q");
  arma::vec w(400, arma::fill::ones);
  CHECK(largest_eigenvalue(arma::mat(400, 400, arma::fill::eye)) ==
        doctest::Approx(1.0).epsilon(tolerance::closed_form<double>));
  w(0) = w(1) = 7.0;
  CHECK(largest_eigenvalue(arma::symmatu(Q * arma::diagmat(w) * Q.t())) ==
        doctest::Approx(7.0).epsilon(agreement));
  w(1) = 7.0 * (1 - 1e-6);
  CHECK(largest_eigenvalue(arma::symmatu(Q * arma::diagmat(w) * Q.t())) ==
        doctest::Approx(7.0).epsilon(agreement));
  arma::mat block(400, 400, arma::fill::zeros);
  block.diag() = arma::linspace(0.0, 1.0, 400);
  block(17, 17) = 1.5;
  CHECK(largest_eigenvalue(block) == doctest::Approx(1.5).epsilon(agreement));
}

TEST_CASE(
    "the largest eigenvalue of an empty or zero matrix is zero, and invalid matrices are refused") {
  CHECK(largest_eigenvalue(arma::mat()) == 0.0);
  CHECK(largest_eigenvalue(arma::mat(300, 300, arma::fill::zeros)) == 0.0);
  CHECK_THROWS_AS(largest_eigenvalue(arma::mat(300, 299, arma::fill::ones)), Failure);
  arma::mat S(300, 300, arma::fill::eye);
  S(2, 3) = S(3, 2) = std::numeric_limits<double>::infinity();
  CHECK_THROWS_AS(largest_eigenvalue(S), Failure);
}

TEST_CASE("the caller's callback runs between the steps") {
  const arma::mat A = gaussian(300, 320, "A");
  int asked = 0;
  largest_eigenvalue(A * A.t(), [&] { ++asked; });
  CHECK(asked > 8);
  CHECK_THROWS_AS(largest_eigenvalue(A * A.t(), [] { throw Interrupted(); }), Interrupted);
}

}  // namespace largest_eigenvalue_test
