// Products of blocks of matrices, which Armadillo has for whole ones alone. For the .cpp files of layers.
#pragma once

#include <cblas.h>
#include <armadillo>

namespace ranklab {

/// C = alpha op(A) op(B) + beta C, where op(A) is (m, k) and op(B) is (k, n); the leading dimensions let A, B and C be rows of
/// larger matrices. C is not read where beta is 0. Small products are our own: OpenBLAS copies A and B first, and clears C.
template <class T>
void product(CBLAS_TRANSPOSE a, CBLAS_TRANSPOSE b, arma::uword m, arma::uword n, arma::uword k, T alpha, const T* A,
             arma::uword lda, const T* B, arma::uword ldb, T* C, arma::uword ldc, T beta = 0);

/// `width` rows of X, which has `rows`, and `length` columns, as out (length, width): OpenBLAS is half as fast with a transposed
/// factor in small products.
template <class T>
void transpose_rows(const T* X, arma::uword rows, arma::uword width, arma::uword length, T* out) {
  for (arma::uword t = 0; t < length; ++t) {
    for (arma::uword c = 0; c < width; ++c) out[c * length + t] = X[t * rows + c];
  }
}

/// Tokens to multiply at once with a map of so many weights: one sequence, so that what follows finds it in cache; or all N where
/// OpenBLAS would copy the map for each product, as it does from 100^3 multiplications on.
inline arma::uword tokens_per_product(arma::uword weights, arma::uword length, arma::uword N) {
  return weights * length < 1'000'000 ? length : N;
}

}  // namespace ranklab
