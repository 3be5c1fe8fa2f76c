// The largest eigenvalue by Lanczos iteration with full reorthogonalisation (Golub, Van Loan, "Matrix Computations", 2013,
// Section 10.3): after j steps S Q = Q T + beta q_(j+1) e_j', Q (n, j) orthonormal, T (j, j) tridiagonal. An eigenpair (theta, y)
// of T then has the residual ||S Q y - theta Q y|| = beta |y_j|, and theta is that close to an eigenvalue of S. That it is
// the largest is certain but for a start orthogonal to its eigenvector, which a random one is not.
#include <cmath>
#include <optional>
#include <span>

#include "core/random.hpp"
#include "core/tolerances.hpp"
#include "linalg/decompositions.hpp"

namespace ranklab {
namespace {

// Below, LAPACK takes no longer.
constexpr arma::uword smallest_iterated = 96;
// Steps that cost about as much as LAPACK: a bulk without a gap would take many more.
constexpr arma::uword most_steps = 40;
constexpr arma::uword steps_between_looks = 4;

arma::vec start_vector(arma::uword n) {
  arma::vec q(n);
  Stream(0, 0, "largest eigenvalue").fill_normal(std::span<double>(q.memptr(), n));
  return q / arma::norm(q);
}

// The largest eigenvalue of the leading j x j part of T where its residual is within rounding.
std::optional<double> settled(const arma::mat& T, arma::uword j, double beta) {
  const SymmetricEigen ritz = symmetric_eigen(T.submat(0, 0, j - 1, j - 1));
  const double theta = ritz.w.back(), residual = beta * std::abs(ritz.Q(j - 1, j - 1));
  if (residual <= tolerance::closed_form<double> * theta / 4) return theta;
  return std::nullopt;
}

std::optional<double> lanczos(const arma::mat& S) {
  const arma::uword n = S.n_rows;
  arma::mat Q(n, most_steps), T(most_steps, most_steps, arma::fill::zeros);
  Q.col(0) = start_vector(n);
  for (arma::uword j = 0; j < most_steps; ++j) {
    arma::vec w = S * Q.col(j);
    T(j, j) = arma::dot(w, Q.col(j));
    const auto basis = Q.head_cols(j + 1);
    for (int pass = 0; pass < 2; ++pass) w -= basis * (basis.t() * w);  // once leaves what cancellation has lost
    const double beta = arma::norm(w);
    if ((j + 1) % steps_between_looks == 0 || beta <= tolerance::epsilon<double> * std::abs(T(0, 0))) {
      if (const auto theta = settled(T, j + 1, beta)) return theta;
    }
    if (j + 1 == most_steps || beta == 0) break;
    T(j, j + 1) = T(j + 1, j) = beta;
    Q.col(j + 1) = w / beta;
  }
  return std::nullopt;
}

}  // namespace

double largest_eigenvalue(const arma::mat& S) {
  if (S.empty()) return 0.0;
  if (S.n_rows < smallest_iterated || !S.is_square() || !S.is_finite()) return symmetric_eigenvalues(S).max();
  if (const auto theta = lanczos(S)) return *theta;
  return symmetric_eigenvalues(S).max();
}

}  // namespace ranklab
