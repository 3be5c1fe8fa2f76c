#include "linalg/spectra.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "core/error.hpp"
#include "core/tolerances.hpp"
#include "gaussian.hpp"

namespace spectra_test {

using namespace ranklab;

namespace {

/// A rows x columns matrix with the given singular values and random orthonormal factors.
arma::mat with_singular_values(arma::uword rows, arma::uword columns, const arma::vec& s) {
  arma::mat U, V, R;
  arma::qr_econ(U, R, gaussian(rows, s.n_elem, "U"));
  arma::qr_econ(V, R, gaussian(columns, s.n_elem, "V"));
  return U * arma::diagmat(s) * V.t();
}

doctest::Approx close(double expected) {
  return doctest::Approx(expected).scale(0).epsilon(tolerance::residual<double>);
}

}  // namespace

TEST_CASE("rank measures of known spectra are right") {
  const arma::vec s = {4.0, 2.0, 2.0, 1.0};
  CHECK(stable_rank(s) == close(25.0 / 16));
  CHECK(nuclear_rank(s) == close(81.0 / 25));
  CHECK(effective_rank(s) == close(9.0 / 4));
  const arma::vec shuffled = {2.0, 1.0, 4.0, 2.0};
  CHECK(stable_rank(shuffled) == close(25.0 / 16));
  CHECK(effective_rank(shuffled) == close(9.0 / 4));
}

TEST_CASE("rank measures of matrices with known singular values are right for every shape") {
  const arma::vec s = {4.0, 2.0, 2.0, 1.0};
  for (const auto& shape : {std::pair{4, 4}, {4, 9}, {9, 4}, {60, 50}, {300, 7}}) {
    const auto m = static_cast<arma::uword>(shape.first),
               n = static_cast<arma::uword>(shape.second);
    CAPTURE(m);
    CAPTURE(n);
    const arma::mat A = with_singular_values(m, n, s);
    CHECK(stable_rank(A) == close(25.0 / 16));
    CHECK(stable_rank(arma::mat(A.t())) == close(25.0 / 16));
    CHECK(nuclear_rank(A) == close(81.0 / 25));
    CHECK(operator_norm(A) == close(4.0));
    CHECK(stable_rank_from_gram(A * A.t()) == close(25.0 / 16));
    CHECK(stable_rank_from_gram(3.0 * A.t() * A) == close(25.0 / 16));
  }
}

TEST_CASE("both measures are 1 for rank one and n for an orthogonal matrix") {
  const arma::mat one = gaussian(30, 1, "u") * gaussian(1, 20, "v");
  CHECK(stable_rank(one) == close(1.0));
  CHECK(nuclear_rank(one) == close(1.0));
  CHECK(operator_norm(one) == close(arma::norm(one, "fro")));
  const arma::mat orthogonal = with_singular_values(25, 25, arma::ones(25));
  CHECK(stable_rank(orthogonal) == close(25.0));
  CHECK(nuclear_rank(orthogonal) == close(25.0));
  const arma::mat row = gaussian(1, 9, "row");
  CHECK(stable_rank(row) == close(1.0));
  CHECK(operator_norm(row) == close(arma::norm(row, "fro")));
}

TEST_CASE("the nuclear rank counts singular values that a Gram matrix would lose") {
  // 400 values of 1e-9 and one of 1: nr = (1 + 4e-7)^2 up to 4e-16. Computed from the Gram matrix,
  // they would be noise near 1e-8.
  arma::vec s(401);
  s.fill(1e-9);
  s(0) = 1.0;
  const double nuclear = 1.0 + 400 * 1e-9;
  CHECK(nuclear_rank(with_singular_values(401, 401, s)) ==
        close(nuclear * nuclear / (1.0 + 400 * 1e-18)));
}

TEST_CASE("rank measures lie between 1 and the rank and satisfy st <= nr") {
  // Follows from s_1 (s_1 + s_2 + ...) >= s_1^2 + s_2^2 + ... by squaring and dividing.
  for (const auto& [rows, columns, rank] : {std::tuple{20, 20, 20}, {50, 30, 4}, {12, 80, 12}}) {
    const arma::mat A =
        gaussian(static_cast<arma::uword>(rows), static_cast<arma::uword>(rank), "left") *
        gaussian(static_cast<arma::uword>(rank), static_cast<arma::uword>(columns), "right");
    const double st = stable_rank(A), nr = nuclear_rank(A);
    CHECK(st >= 1.0);
    CHECK(nr >= st);
    CHECK(nr <= rank);
  }
}

TEST_CASE("rank measures are invariant under rotation") {
  const arma::mat A = gaussian(40, 25, "A");
  const arma::mat rotated = with_singular_values(40, 40, arma::ones(40)) * A *
                            with_singular_values(25, 25, arma::ones(25));
  CHECK(stable_rank(rotated) == close(stable_rank(A)));
  CHECK(nuclear_rank(rotated) == close(nuclear_rank(A)));
  CHECK(operator_norm(rotated) == close(operator_norm(A)));
}

TEST_CASE("scaling a matrix keeps its rank measures and scales its norm") {
  const arma::mat A = gaussian(40, 25, "A"), gram = A.t() * A;
  const arma::vec s = {4.0, 2.0, 2.0, 1.0};
  for (const double scale : {1e-300, 1e-200, 1e-20, 7.0, 1e200, 1e300}) {
    CAPTURE(scale);
    CHECK(stable_rank(arma::mat(scale * A)) == close(stable_rank(A)));
    CHECK(nuclear_rank(arma::mat(scale * A)) == close(nuclear_rank(A)));
    CHECK(operator_norm(scale * A) / scale == close(operator_norm(A)));
    CHECK(stable_rank_from_gram(scale * gram) == close(stable_rank(A)));
    CHECK(stable_rank_from_gram(1e6 * scale * gram) ==
          close(stable_rank(A)));  // at 1e306 the trace would overflow
    CHECK(stable_rank(arma::vec(scale * s)) == close(25.0 / 16));
    CHECK(nuclear_rank(arma::vec(scale * s)) == close(81.0 / 25));
    CHECK(effective_rank(arma::vec(scale * s)) == close(9.0 / 4));
  }
}

TEST_CASE("zero and empty matrices have norm 0 and undefined rank measures") {
  for (const arma::mat& A : {arma::mat(3, 4, arma::fill::zeros), arma::mat(3, 0), arma::mat()}) {
    CHECK(std::isnan(stable_rank(A)));
    CHECK(std::isnan(nuclear_rank(A)));
    CHECK(operator_norm(A) == 0.0);
  }
  CHECK(std::isnan(stable_rank_from_gram(arma::zeros(3, 3))));
  for (const arma::vec& values : {arma::vec(3, arma::fill::zeros), arma::vec()}) {
    CHECK(std::isnan(stable_rank(values)));
    CHECK(std::isnan(nuclear_rank(values)));
    CHECK(std::isnan(effective_rank(values)));
  }
}

TEST_CASE("a matrix with non-finite entries throws, a vector gives NaN") {
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    for (const arma::uword at : {0u, 5u}) {
      arma::mat A(3, 4, arma::fill::ones), gram(3, 3, arma::fill::ones);
      A(at) = gram(at) = bad;
      CHECK_THROWS_WITH_AS(stable_rank(A), "stable rank: 3 x 4 matrix has non-finite entries",
                           Failure);
      CHECK_THROWS_AS(stable_rank_from_gram(gram), Failure);
      CHECK_THROWS_AS(nuclear_rank(A), Failure);
      CHECK_THROWS_WITH_AS(operator_norm(A), "operator norm: 3 x 4 matrix has non-finite entries",
                           Failure);
    }
    const arma::vec values = {1.0, bad, 2.0};
    CHECK(std::isnan(stable_rank(values)));
    CHECK(std::isnan(nuclear_rank(values)));
    CHECK(std::isnan(effective_rank(values)));
  }
}

TEST_CASE("the nuclear rank of a single-precision matrix is that of the same entries in double") {
  arma::vec s = arma::exp10(arma::linspace(0, -9, 120));
  const arma::fmat G = arma::conv_to<arma::fmat>::from(with_singular_values(150, 120, s));
  const double exact = nuclear_rank(arma::conv_to<arma::mat>::from(G));
  CHECK(nuclear_rank(G) == doctest::Approx(exact).scale(0).epsilon(tolerance::epsilon<float>));
  CHECK(nuclear_rank(arma::fmat(1e-30f * G)) ==
        doctest::Approx(exact).scale(0).epsilon(4 * tolerance::epsilon<float>));
  CHECK(std::isnan(nuclear_rank(arma::fmat(3, 4, arma::fill::zeros))));
}

TEST_CASE("the entropy rank is n for n equal values and any number of zeros") {
  CHECK(entropy_rank({3, 3, 3, 0}) == doctest::Approx(3).epsilon(1e-14));
  // Shares 1/2, 1/4, 1/4: exp(3/2 ln 2).
  CHECK(entropy_rank({2, 1, 1}) == doctest::Approx(std::pow(2.0, 1.5)).epsilon(1e-14));
  CHECK(std::isnan(entropy_rank({0, 0})));
}

}  // namespace spectra_test
