#include "linalg/product.hpp"

#include <doctest/doctest.h>

#include <stdexcept>
#include <utility>

#include "core/tolerances.hpp"
#include "gaussian.hpp"
#include "linalg/packs.hpp"

namespace product_test {

using namespace ranklab;

namespace {

/// Blocks of larger matrices, so that the test sees writes outside C. The reference is computed by
/// loops in double.
template <class T>
void check(CBLAS_TRANSPOSE a, CBLAS_TRANSPOSE b, arma::uword m, arma::uword n, arma::uword k,
           T beta) {
  const bool a_turned = a == CblasTrans, b_turned = b == CblasTrans;
  const auto drawn = [](arma::uword rows, arma::uword cols, const char* name) {
    return arma::conv_to<arma::Mat<T>>::from(gaussian(rows, cols, name));
  };
  const auto A = a_turned ? drawn(k + 3, m, "A") : drawn(m + 3, k, "A"),
             B = b_turned ? drawn(n + 2, k, "B") : drawn(k + 2, n, "B");
  const arma::Mat<T> before = drawn(m + 5, n + 1, "C");
  arma::Mat<T> C = before;
  const T alpha = T(0.75);
  product(a, b, m, n, k, alpha, A.memptr() + 1, A.n_rows, B.memptr() + 1, B.n_rows, C.memptr() + 2,
          C.n_rows, beta);
  double worst = 0;
  for (arma::uword j = 0; j < C.n_cols; ++j) {
    for (arma::uword i = 0; i < C.n_rows; ++i) {
      double expected = static_cast<double>(before(i, j));
      if (i >= 2 && i < m + 2 && j < n) {
        double sum = 0;
        for (arma::uword l = 0; l < k; ++l) {
          sum += static_cast<double>(a_turned ? A(l + 1, i - 2) : A(i - 1, l)) *
                 static_cast<double>(b_turned ? B(j + 1, l) : B(l + 1, j));
        }
        expected = static_cast<double>(alpha) * sum + static_cast<double>(beta) * expected;
      } else {
        CHECK(C(i, j) == before(i, j));
      }
      worst = std::max(worst, std::fabs(static_cast<double>(C(i, j)) - expected));
    }
  }
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(k);
  CHECK(worst <= 20 * static_cast<double>(k) * tolerance::epsilon<T>);
}

}  // namespace

TEST_CASE_TEMPLATE(
    "products of blocks are right at every remainder of the tiles and for sizes that do not use "
    "tiles",
    T, float, double) {
  constexpr arma::uword w = pack_size<T>;
  for (const CBLAS_TRANSPOSE a : {CblasNoTrans, CblasTrans}) {
    for (const CBLAS_TRANSPOSE b : {CblasNoTrans, CblasTrans}) {
      for (const arma::uword m : {arma::uword{1}, w - 1, w, w + 1, 2 * w, 3 * w + 2, 4 * w + 1}) {
        for (const arma::uword n : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 12u, 17u})
          check<T>(a, b, m, n, 5, n % 2 ? T(1) : T(-0.5));
      }
      check<T>(a, b, 2 * w + 3, 8, 1, T(0));
      check<T>(a, b, 300, 7, 200, T(0));
      // The depth and the rows take two parts, with less than a pack left; the columns take
      // several.
      check<T>(a, b, 131, 100, 300, T(0));
      check<T>(a, b, 131, 100, 300, T(0.5));
      check<T>(a, b, 1100, 2, 257, T(1));  // too large for tiles
    }
  }
}

TEST_CASE_TEMPLATE(
    "triangular products: entries that are zero or not requested do not affect the others", T,
    float, double) {
  const auto drawn = [](arma::uword rows, arma::uword cols, const char* name) {
    return arma::conv_to<arma::Mat<T>>::from(gaussian(rows, cols, name));
  };
  for (const arma::uword length : {1u, 5u, 16u, 49u, 64u, 300u}) {
    for (const arma::uword other : {8u, 19u, 70u}) {
      CAPTURE(length);
      CAPTURE(other);
      const double limit =
          20 * static_cast<double>(std::max(length, other)) * tolerance::epsilon<T>;
      // S = K'Q; column i is requested down to row i.
      const arma::Mat<T> K = drawn(other, length, "K"), Q = drawn(other, length, "Q"),
                         whole = K.t() * Q;
      arma::Mat<T> S(length, length);
      S.fill(arma::Datum<T>::nan);
      product(CblasTrans, CblasNoTrans, length, length, other, T(1), K.memptr(), other, Q.memptr(),
              other, S.memptr(), length, T(0), Triangle::upper_result);
      double worst = 0;
      for (arma::uword i = 0; i < length; ++i) {
        for (arma::uword j = 0; j <= i; ++j)
          worst = std::max(worst, static_cast<double>(std::fabs(S(j, i) - whole(j, i))));
      }
      CHECK(worst <= limit);
      // V P and V P' with upper triangular P.
      const arma::Mat<T> V = drawn(other, length, "V"),
                         P = arma::trimatu(drawn(length, length, "P"));
      arma::Mat<T> H = drawn(other, length, "H");
      const arma::Mat<T> expected = H + V * P, expected_turned = V * P.t();
      product(CblasNoTrans, CblasNoTrans, other, length, length, T(1), V.memptr(), other,
              P.memptr(), length, H.memptr(), other, T(1), Triangle::upper_right);
      CHECK(static_cast<double>(arma::abs(H - expected).max()) <= limit);
      product(CblasNoTrans, CblasTrans, other, length, length, T(1), V.memptr(), other, P.memptr(),
              length, H.memptr(), other, T(0), Triangle::lower_right);
      CHECK(static_cast<double>(arma::abs(H - expected_turned).max()) <= limit);
    }
  }
}

TEST_CASE_TEMPLATE("without beta, the previous content of C is ignored", T, float, double) {
  for (const arma::uword m : {3u, 40u}) {
    const arma::Mat<T> A(m, 4, arma::fill::ones), B(4, 9, arma::fill::ones);
    arma::Mat<T> C(m, 9);
    C.fill(arma::Datum<T>::nan);
    product(CblasNoTrans, CblasNoTrans, m, 9, 4, T(1), A.memptr(), m, B.memptr(), 4, C.memptr(), m);
    CHECK(arma::all(arma::vectorise(C) == T(4)));
  }
}

}  // namespace product_test
