// Products of blocks of matrices, which Armadillo has for whole ones alone. For the .cpp files of layers.
#pragma once

#include <cblas.h>
#include <armadillo>

namespace ranklab {

/// C = alpha op(A) op(B) + beta C, where op(A) is (m, k) and op(B) is (k, n); the leading dimensions let A, B and C be rows of
/// larger matrices.
inline void product(CBLAS_TRANSPOSE a, CBLAS_TRANSPOSE b, arma::uword m, arma::uword n, arma::uword k, float alpha, const float* A,
                    arma::uword lda, const float* B, arma::uword ldb, float* C, arma::uword ldc, float beta = 0) {
  const auto size = [](arma::uword of) { return static_cast<int>(of); };
  cblas_sgemm(CblasColMajor, a, b, size(m), size(n), size(k), alpha, A, size(lda), B, size(ldb), beta, C, size(ldc));
}
inline void product(CBLAS_TRANSPOSE a, CBLAS_TRANSPOSE b, arma::uword m, arma::uword n, arma::uword k, double alpha,
                    const double* A, arma::uword lda, const double* B, arma::uword ldb, double* C, arma::uword ldc,
                    double beta = 0) {
  const auto size = [](arma::uword of) { return static_cast<int>(of); };
  cblas_dgemm(CblasColMajor, a, b, size(m), size(n), size(k), alpha, A, size(lda), B, size(ldb), beta, C, size(ldc));
}

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
