// Products of small matrices and of blocks of matrices.
#pragma once

#include <cblas.h>
#include <armadillo>

namespace ranklab {

/// What is zero, or not asked for, on one side of a diagonal; it costs no multiplications.
enum class Triangle {
  none,
  upper_result,  // of C the entries below the diagonal: they hold anything afterwards
  upper_right,   // of op(B) those below the diagonal are zeros
  lower_right,   // of op(B) those above
};

/// C = alpha op(A) op(B) + beta C, where op(A) is (m, k) and op(B) is (k, n); the leading dimensions let A, B and C be rows of
/// larger matrices. C is not read where beta is 0. Up to 2^18 entries of A in 256 of its columns are our own: OpenBLAS clears C and
/// copies B first, which small products do not repay. A and B hold finite numbers where a triangle says zeros.
template <class T>
void product(CBLAS_TRANSPOSE a, CBLAS_TRANSPOSE b, arma::uword m, arma::uword n, arma::uword k, T alpha, const T* A,
             arma::uword lda, const T* B, arma::uword ldb, T* C, arma::uword ldc, T beta = 0, Triangle triangle = Triangle::none);

}  // namespace ranklab
