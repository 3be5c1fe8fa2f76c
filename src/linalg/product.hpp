// Products of small matrices and of blocks of matrices.
#pragma once

#include <cblas.h>
#include <armadillo>

namespace ranklab {

/// One side of a diagonal that is zero, or not needed; it costs no multiplications.
enum class Triangle {
  none,
  upper_result,  // entries of C below the diagonal are not needed; they are undefined afterward
  upper_right,   // entries of op(B) below the diagonal are zero
  lower_right,   // entries of op(B) above the diagonal are zero
};

/// C = alpha op(A) op(B) + beta C, where op(A) is (m, k) and op(B) is (k, n). The leading
/// dimensions allow A, B and C to be rows of larger matrices. C is not read if beta is 0. Our own
/// code handles up to 2^18 entries of A, counted over at most 256 of its columns: OpenBLAS first
/// clears C and copies B, which does not pay off for small products. A and B must be finite even in
/// a triangle that counts as zero.
template <class T>
void product(CBLAS_TRANSPOSE a, CBLAS_TRANSPOSE b, arma::uword m, arma::uword n, arma::uword k,
             T alpha, const T* A, arma::uword lda, const T* B, arma::uword ldb, T* C,
             arma::uword ldc, T beta = 0, Triangle triangle = Triangle::none);

}  // namespace ranklab
