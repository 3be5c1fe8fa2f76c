// Rank measures of a matrix, from its singular values s_1 >= s_2 >= ... All are undefined (NaN) for
// a zero matrix and for a vector with a value that is not finite; a matrix with such an entry
// throws Failure. Scaling a matrix changes no rank measure, even by 1e200: every function scales
// its argument first. README.md explains the citation keys. An arma::vec is a spectrum, an
// arma::mat is a matrix; convert an expression to one of the two.
#pragma once

#include <armadillo>

namespace ranklab {

/// [Spectral] Section 1.1: st(A) = ||A||_F^2 / ||A||_op^2, between 1 and rank(A). For a matrix,
/// computed from the smaller Gram matrix, whose largest eigenvalue is accurate to rounding, about
/// 10 min(m, n) epsilon.
double stable_rank(const arma::vec& singular_values);
double stable_rank(const arma::mat& A);

/// st(A) from the symmetric Gram matrix A A' (or A' A, or a positive multiple): trace / largest
/// eigenvalue. Accurate to rounding because only the largest eigenvalue is used.
double stable_rank_from_gram(const arma::mat& gram);

/// [Spectral] eq. (1.5): nr(G) = ||G||_*^2 / ||G||_F^2, between 1 and rank(G). For a matrix,
/// computed from its singular values: a Gram matrix would lose those below 1e-8 s_1.
double nuclear_rank(const arma::vec& singular_values);
double nuclear_rank(const arma::mat& G);
/// For a matrix in single precision, computed from its Gram matrix in double: the error of a
/// singular value is at most 3e-8 s_1, less than that from rounding G's entries.
double nuclear_rank(const arma::fmat& G);

/// [Spectral] Section 2: er(M) = tr(M) / ||M||_op of a positive semidefinite M, from its
/// eigenvalues (any order).
double effective_rank(const arma::vec& eigenvalues);

/// exp(entropy of s_i / sum of s), the effective rank of Roy and Vetterli (2007); NaN if all are
/// zero.
double entropy_rank(const arma::vec& singular_values);

/// ||A||_op, the largest singular value, to the accuracy of stable_rank; 0 for a zero matrix.
double operator_norm(const arma::mat& A);

}  // namespace ranklab
