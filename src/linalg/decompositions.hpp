// Checked decompositions: every LAPACK status is checked. If the divide-and-conquer driver does not
// converge, the standard driver is tried; if that fails too, Failure gives the matrix's shape.
#pragma once

#include <armadillo>

namespace ranklab {

/// Throws Failure if an entry of A is not finite; the message starts with `what`, the quantity to
/// be computed.
template <class T>
void require_finite(const char* what, const arma::Mat<T>& A);

/// A = U diag(s) V', thin: U is m x r, V is n x r, r = min(m, n), s descending.
template <class T>
struct Svd {
  arma::Mat<T> U, V;
  arma::Col<T> s;
};

/// Thin singular value decomposition; r = 0 for an empty matrix. Throws Failure for non-finite
/// entries or if no driver converges.
template <class T>
Svd<T> thin_svd(const arma::Mat<T>& A);

/// Singular values in descending order, to a small multiple of the rounding of the largest. Throws
/// as thin_svd. In `singular_values.cpp`.
arma::vec singular_values(const arma::mat& A);

/// S = Q diag(w) Q', w ascending, S symmetric (only the upper triangle is read). Throws Failure if
/// S is not square or not finite, or if no driver converges.
struct SymmetricEigen {
  arma::vec w;
  arma::mat Q;
};
SymmetricEigen symmetric_eigen(const arma::mat& S);

/// Eigenvalues of a symmetric matrix, ascending. Reads and throws as symmetric_eigen.
arma::vec symmetric_eigenvalues(const arma::mat& S);

/// The upper trapezoidal R (r x n, r = min(m, n)) of A = QR, where Q has orthonormal columns and R
/// has no negative diagonal entry; unique if the first r columns of A are independent. Throws
/// Failure for non-finite entries.
template <class T>
arma::Mat<T> triangular_factor(const arma::Mat<T>& A);

/// The largest modulus of the eigenvalues of A, symmetric or not; 0 for an empty matrix. Throws
/// Failure if A is not square or not finite, or if no driver converges.
double spectral_radius(const arma::mat& A);

}  // namespace ranklab
