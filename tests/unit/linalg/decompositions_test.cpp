#include "linalg/decompositions.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "core/error.hpp"
#include "core/tolerances.hpp"
#include "gaussian.hpp"

namespace decompositions_test {

using namespace ranklab;

namespace {

/// ||X||_F / scale computed in double for either precision.
template <class M>
double relative_norm(const M& X, double scale = 1.0) {
  return arma::norm(arma::conv_to<arma::mat>::from(X), "fro") / scale;
}

template <class T>
void check_svd(const arma::Mat<T>& A) {
  CAPTURE(A.n_rows);
  CAPTURE(A.n_cols);
  const Svd<T> svd = thin_svd(A);
  const arma::uword r = std::min(A.n_rows, A.n_cols);
  const arma::Mat<T> identity(r, r, arma::fill::eye);
  REQUIRE(svd.U.n_rows == A.n_rows);
  REQUIRE(svd.U.n_cols == r);
  REQUIRE(svd.V.n_rows == A.n_cols);
  REQUIRE(svd.V.n_cols == r);
  REQUIRE(svd.s.n_elem == r);
  CHECK(svd.s.is_sorted("descend"));
  CHECK(svd.s.min() >= 0);
  const double tolerance = tolerance::residual<T>;
  CHECK(relative_norm(arma::Mat<T>(svd.U.t() * svd.U - identity)) < tolerance);
  CHECK(relative_norm(arma::Mat<T>(svd.V.t() * svd.V - identity)) < tolerance);
  CHECK(relative_norm(arma::Mat<T>(svd.U * arma::diagmat(svd.s) * svd.V.t() - A),
                      relative_norm(A)) < tolerance);
}

template <class F>
std::string failure_of(F compute) {
  try {
    compute();
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "no failure";
}

}  // namespace

TEST_CASE_TEMPLATE(
    "thin SVD: factors are orthonormal, the residual vanishes, values are descending", T, float,
    double) {
  for (const auto& [rows, columns] :
       {std::pair{1, 1}, {1, 7}, {7, 1}, {30, 30}, {60, 20}, {20, 60}}) {
    const arma::mat A =
        gaussian(static_cast<arma::uword>(rows), static_cast<arma::uword>(columns), "A");
    check_svd(arma::conv_to<arma::Mat<T>>::from(A));
  }
  const arma::mat low_rank = gaussian(40, 3, "left") * gaussian(3, 50, "right");
  check_svd(arma::conv_to<arma::Mat<T>>::from(low_rank));
}

TEST_CASE("singular values of a diagonal matrix are the sorted moduli") {
  const arma::vec diagonal = {-2.0, 0.0, 1e-200, 5.0, 1e200};
  const arma::vec expected = {1e200, 5.0, 2.0, 1e-200, 0.0};
  // Relative to the largest one, as for every backward stable method.
  const arma::vec s = singular_values(arma::diagmat(diagonal));
  CHECK(arma::abs(s - expected).max() <= tolerance::residual<double> * 1e200);
  CHECK(thin_svd(arma::mat(arma::diagmat(diagonal))).s(0) ==
        doctest::Approx(1e200).epsilon(tolerance::closed_form<double>));
}

// The Hadamard matrix of size n, a power of 2: entries +-1, H'H = n I.
arma::mat hadamard(arma::uword n) {
  arma::mat H(n, n);
  for (arma::uword j = 0; j < n; ++j) {
    for (arma::uword i = 0; i < n; ++i) H(i, j) = std::popcount(i & j) % 2 == 0 ? 1.0 : -1.0;
  }
  return H;
}

// With values that are sums of few powers of 2, the entries of H diag(s) H' are exact, and so the
// singular values are known without rounding.
TEST_CASE("singular values of large matrices are exact but for the rounding of the largest") {
  constexpr arma::uword n = 256;
  const arma::vec i = arma::regspace(0, n - 1);
  arma::vec graded = arma::exp2(-arma::floor(i / 8.0)), clustered(n, arma::fill::ones),
            singular(n, arma::fill::zeros), alternating(n, arma::fill::ones);
  clustered.tail(n / 2).fill(1.0 - std::exp2(-40));
  singular.head(3) = arma::vec{8.0, 4.0, std::exp2(-30)};
  for (arma::uword k = 1; k < n; k += 2) alternating(k) = std::exp2(-20);
  for (const arma::vec& s : {graded, clustered, singular, alternating, arma::vec(0.0 * graded)}) {
    for (const arma::uword rows : {n, 2 * n, 8 * n}) {
      const arma::mat left = hadamard(rows).head_cols(n),
                      A = left * arma::diagmat(s) * arma::reverse(hadamard(n), 1);
      const double norm = std::sqrt(static_cast<double>(rows * n));
      const arma::vec expected = arma::sort(s, "descend") * norm;
      const double bound = 1e-13 * norm * std::max(s.max(), 1e-300);
      CHECK(arma::abs(singular_values(A) - expected).max() <= bound);
      CHECK(arma::abs(singular_values(A.t()) - expected).max() <= bound);
    }
  }
}

TEST_CASE("singular values of large matrices are the same with and without vectors") {
  for (const auto& [rows, columns] :
       {std::pair{192, 192}, {200, 199}, {193, 230}, {450, 201}, {195, 1000}, {333, 257}}) {
    const arma::mat A =
        gaussian(static_cast<arma::uword>(rows), static_cast<arma::uword>(columns), "A");
    for (const double scale : {1.0, 1e-90, 1e200, 1e-200}) {
      const arma::vec s = singular_values(scale * A), with_vectors = thin_svd(A).s;
      CHECK(arma::abs(s / scale - with_vectors).max() < 1e-13 * with_vectors(0));
      CHECK(s.is_sorted("descend"));
    }
  }
}

TEST_CASE("singular values are the same with and without vectors") {
  for (const auto& [rows, columns] : {std::pair{1, 4}, {30, 30}, {60, 20}, {20, 60}}) {
    const arma::mat A =
        gaussian(static_cast<arma::uword>(rows), static_cast<arma::uword>(columns), "A");
    const arma::vec s = singular_values(A), with_vectors = thin_svd(A).s;
    REQUIRE(s.n_elem == with_vectors.n_elem);
    CHECK(arma::abs(s - with_vectors).max() < tolerance::residual<double> * s(0));
  }
}

TEST_CASE(
    "symmetric eigendecomposition: vectors are orthogonal, the residual vanishes, values are "
    "ascending") {
  for (const arma::uword n : {1u, 2u, 30u, 80u}) {
    const arma::mat A = gaussian(n, n, "A"), S = A + A.t();
    const SymmetricEigen eigen = symmetric_eigen(S);
    CHECK(eigen.w.is_sorted("ascend"));
    CHECK(relative_norm(arma::mat(eigen.Q.t() * eigen.Q - arma::eye(n, n))) <
          tolerance::residual<double>);
    CHECK(relative_norm(arma::mat(S * eigen.Q - eigen.Q * arma::diagmat(eigen.w)),
                        relative_norm(S)) < tolerance::residual<double>);
    CHECK(arma::abs(symmetric_eigenvalues(S) - eigen.w).max() <
          tolerance::residual<double> * relative_norm(S));
  }
}

TEST_CASE("eigenvalues of the second difference matrix: 2 - 2 cos(j pi / (n + 1))") {
  const arma::uword n = 50;
  arma::mat S = 2.0 * arma::eye(n, n);
  S.diag(1).fill(-1.0);
  S.diag(-1).fill(-1.0);
  const arma::vec expected =
      2.0 - 2.0 * arma::cos(arma::regspace(1, n) * arma::datum::pi / (n + 1.0));
  CHECK(arma::abs(symmetric_eigenvalues(S) - expected).max() < tolerance::residual<double>);
  CHECK(arma::abs(symmetric_eigen(S).w - expected).max() < tolerance::residual<double>);
}

TEST_CASE_TEMPLATE("triangular factor: R'R = A'A, R is upper trapezoidal with nonnegative diagonal",
                   T, float, double) {
  for (const auto& [rows, columns] : {std::pair{1, 4}, {30, 30}, {60, 20}, {20, 60}}) {
    const arma::mat drawn =
        gaussian(static_cast<arma::uword>(rows), static_cast<arma::uword>(columns), "A");
    const arma::Mat<T> A = arma::conv_to<arma::Mat<T>>::from(drawn), R = triangular_factor(A);
    REQUIRE(R.n_rows == std::min(A.n_rows, A.n_cols));
    REQUIRE(R.n_cols == A.n_cols);
    CHECK(relative_norm(arma::Mat<T>(R.t() * R - A.t() * A),
                        relative_norm(arma::Mat<T>(A.t() * A))) < tolerance::residual<T>);
    CHECK(R.diag().min() >= 0);
    CHECK(arma::accu(arma::abs(R.head_cols(R.n_rows) - arma::trimatu(R.head_cols(R.n_rows)))) == 0);
    CHECK(failure_of([&] { triangular_factor(arma::Mat<T>(A / T{0})); }).find("QR decomposition") ==
          0);
  }
  CHECK(arma::size(triangular_factor(arma::Mat<T>(3, 0))) == arma::SizeMat(0, 0));
}

TEST_CASE(
    "spectral radius: complex pairs, nilpotent and symmetric matrices, and a matrix compared with "
    "its transpose") {
  const double angle = 0.7;
  const arma::mat turn = {{std::cos(angle), -std::sin(angle)}, {std::sin(angle), std::cos(angle)}};
  CHECK(spectral_radius(-3.0 * turn) ==
        doctest::Approx(3.0).scale(0).epsilon(tolerance::closed_form<double>));
  arma::mat nilpotent(5, 5, arma::fill::zeros);
  nilpotent.diag(1).fill(7.0);
  CHECK(spectral_radius(nilpotent) == 0);
  const arma::mat A = gaussian(30, 30, "A"), S = A + A.t();
  CHECK(spectral_radius(S) == doctest::Approx(arma::abs(symmetric_eigenvalues(S)).max())
                                  .epsilon(tolerance::residual<double>));
  CHECK(spectral_radius(A) ==
        doctest::Approx(spectral_radius(A.t())).epsilon(tolerance::residual<double>));
}

TEST_CASE("matrices with non-finite entries are refused with their shape") {
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    arma::mat A(3, 4, arma::fill::ones), S(3, 3, arma::fill::ones);
    A(2, 1) = S(2, 1) = bad;
    const std::string svd_message =
        "singular value decomposition: 3 x 4 matrix has non-finite entries";
    const std::string eigen_message =
        "symmetric eigendecomposition: 3 x 3 matrix has non-finite entries";
    CHECK(failure_of([&] { thin_svd(A); }) == svd_message);
    CHECK(failure_of([&] { thin_svd(arma::conv_to<arma::fmat>::from(A)); }) == svd_message);
    CHECK(failure_of([&] { singular_values(A); }) == svd_message);
    CHECK(failure_of([&] { symmetric_eigen(S); }) == eigen_message);
    CHECK(failure_of([&] { symmetric_eigenvalues(S); }) == eigen_message);
    CHECK(failure_of([&] { spectral_radius(S); }) ==
          "spectral radius: 3 x 3 matrix has non-finite entries");
  }
}

TEST_CASE("a symmetric eigendecomposition of a matrix that is not square is refused") {
  const std::string message = "symmetric eigendecomposition: 3 x 4 matrix is not square";
  CHECK(failure_of([] { symmetric_eigen(arma::mat(3, 4)); }) == message);
  CHECK(failure_of([] { symmetric_eigenvalues(arma::mat(3, 4)); }) == message);
  CHECK(failure_of([] { spectral_radius(arma::mat(3, 4)); }) ==
        "spectral radius: 3 x 4 matrix is not square");
}

TEST_CASE("empty matrices have empty decompositions") {
  const Svd<double> svd = thin_svd(arma::mat(3, 0));
  CHECK(arma::size(svd.U) == arma::SizeMat(3, 0));
  CHECK(arma::size(svd.V) == arma::SizeMat(0, 0));
  CHECK(svd.s.n_elem == 0);
  CHECK(singular_values(arma::mat(0, 4)).n_elem == 0);
  CHECK(symmetric_eigen(arma::mat()).w.n_elem == 0);
  CHECK(symmetric_eigenvalues(arma::mat()).n_elem == 0);
  CHECK(spectral_radius(arma::mat()) == 0);
}

}  // namespace decompositions_test
