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

/// C = ((C + a_1 b_1) + a_2 b_2) + ... over the k columns a of op(A) and rows b of op(B): continues
/// the sums of a product with alpha = 1 and beta = 0 over other columns. The result has the same
/// bits as one product over all of them, if sums_in_order(m, all columns). Throws std::logic_error
/// if not sums_in_order(m, k).
template <class T>
void continue_product(CBLAS_TRANSPOSE a, CBLAS_TRANSPOSE b, arma::uword m, arma::uword n,
                      arma::uword k, const T* A, arma::uword lda, const T* B, arma::uword ldb, T* C,
                      arma::uword ldc);

/// Whether the sums of product() are taken in the order of the columns of A, for every n and both
/// precisions.
bool sums_in_order(arma::uword m, arma::uword k);

}  // namespace ranklab
