// Checked decompositions: every LAPACK return is looked at; where the divide-and-conquer driver does not converge the
// standard driver is tried, and where that fails too, Failure names the matrix's shape.
#pragma once

#include <armadillo>

namespace ranklab {

/// Throws Failure where an entry of A is not finite; `what` is computed, and begins the message.
template <class T>
void require_finite(const char* what, const arma::Mat<T>& A);

/// A = U diag(s) V', thin: U is m x r, V is n x r, r = min(m, n), s descending.
template <class T>
struct Svd {
  arma::Mat<T> U, V;
  arma::Col<T> s;
};

/// Thin singular value decomposition; of an empty matrix, r = 0. Throws Failure for non-finite entries or where no driver
/// converges.
template <class T>
Svd<T> thin_svd(const arma::Mat<T>& A);

/// Singular values in descending order. Throws as thin_svd.
arma::vec singular_values(const arma::mat& A);

/// S = Q diag(w) Q', w ascending, S symmetric: the upper triangle alone is read. Throws Failure for a non-square or non-finite S,
/// or where no driver converges.
struct SymmetricEigen {
  arma::vec w;
  arma::mat Q;
};
SymmetricEigen symmetric_eigen(const arma::mat& S);

/// Eigenvalues of a symmetric matrix, ascending. Reads and throws as symmetric_eigen.
arma::vec symmetric_eigenvalues(const arma::mat& S);

/// The upper trapezoidal R (r x n, r = min(m, n)) of A = QR, Q with orthonormal columns, R with no negative diagonal entry: unique
/// where the first r columns of A are independent. Throws Failure for non-finite entries.
template <class T>
arma::Mat<T> triangular_factor(const arma::Mat<T>& A);

/// The largest modulus of an eigenvalue of A, symmetric or not; 0 of an empty matrix. Throws Failure for a non-square or
/// non-finite A, or where no driver converges.
double spectral_radius(const arma::mat& A);

}  // namespace ranklab
