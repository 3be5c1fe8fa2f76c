#include "svd_by_rotations.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

RotatedSvd svd_by_rotations(const arma::mat& M) {
  if (M.n_rows < M.n_cols) {
    const RotatedSvd transposed = svd_by_rotations(M.t());
    return {transposed.V, transposed.U, transposed.s};
  }
  const auto dot = [&](const arma::mat& A, arma::uword i, arma::uword j) {
    double sum = 0;
    for (arma::uword row = 0; row < A.n_rows; ++row) sum += A(row, i) * A(row, j);
    return sum;
  };
  const auto rotate = [](arma::mat& A, arma::uword i, arma::uword j, double c, double s) {
    for (arma::uword row = 0; row < A.n_rows; ++row) {
      const double x = A(row, i), y = A(row, j);
      A(row, i) = c * x - s * y;
      A(row, j) = s * x + c * y;
    }
  };
  const arma::uword columns = M.n_cols;
  arma::mat W = M, V(columns, columns, arma::fill::eye);
  double total = 0;
  for (arma::uword j = 0; j < columns; ++j) total += dot(W, j, j);
  bool rotated = true;
  for (int sweep = 0; rotated && sweep < 60; ++sweep) {
    rotated = false;
    for (arma::uword i = 0; i < columns; ++i) {
      for (arma::uword j = i + 1; j < columns; ++j) {
        const double a = dot(W, i, i), b = dot(W, j, j), mixed = dot(W, i, j);
        if (std::fabs(mixed) <= 1e-15 * std::sqrt(a * b) || std::min(a, b) <= 1e-30 * total)
          continue;
        const double zeta = (b - a) / (2 * mixed);
        const double tangent =
            std::copysign(1.0, zeta) / (std::fabs(zeta) + std::sqrt(1 + zeta * zeta));
        const double cosine = 1 / std::sqrt(1 + tangent * tangent);
        rotate(W, i, j, cosine, cosine * tangent);
        rotate(V, i, j, cosine, cosine * tangent);
        rotated = true;
      }
    }
  }
  std::vector<arma::uword> order(columns);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](arma::uword i, arma::uword j) { return dot(W, i, i) > dot(W, j, j); });
  RotatedSvd out{arma::mat(M.n_rows, columns, arma::fill::zeros), arma::mat(columns, columns),
                 arma::vec(columns)};
  for (arma::uword j = 0; j < columns; ++j) {
    out.s(j) = std::sqrt(dot(W, order[j], order[j]));
    if (out.s(j) > 0) out.U.col(j) = W.col(order[j]) / out.s(j);
    out.V.col(j) = V.col(order[j]);
  }
  return out;
}
