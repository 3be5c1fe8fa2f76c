// A singular value decomposition by loops, for tests: it uses neither our code nor LAPACK.
#pragma once

#include <armadillo>

struct RotatedSvd {
  arma::mat U, V;  // M = U diag(s) V', thin; the columns of U at s = 0 are zero
  arma::vec s;     // descending
};

/// One-sided Jacobi method: rotates pairs of columns until all are orthogonal; then M V = U
/// diag(s). Columns with norm below 1e-15 ||M||_F are rounding noise and are not rotated.
RotatedSvd svd_by_rotations(const arma::mat& M);
