#include "linalg/largest_eigenvalue.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/random.hpp"
#include "core/tolerances.hpp"
#include "linalg/decompositions.hpp"

namespace ranklab {
namespace {

// Up to this order, LAPACK computes all eigenvalues in the same time.
constexpr arma::uword small_order = 96;
constexpr arma::uword steps_between_checks = 4;

// The number of steps that costs about as much as LAPACK. A spectrum without a gap at its top would
// take more.
arma::uword most_steps(arma::uword n) {
  return std::clamp<arma::uword>(n / 12, 32, 400);
}
constexpr double residual_limit =
    tolerance::lanczos_residual;  // ||S x - theta x|| / theta bounds the relative error of theta

// A Gaussian direction has a component in every eigenspace. It is the same in every run, so the
// seed does not change the last bits.
arma::vec start(arma::uword n) {
  arma::vec q(n);
  Stream(0, 0, "start of the Lanczos steps").fill_normal({q.memptr(), q.n_elem});
  return q / arma::norm(q);
}

struct Ritz {
  double value, last_component;
};

// The largest eigenvalue of the tridiagonal matrix of the steps so far.
Ritz largest_ritz(const std::vector<double>& alpha, const std::vector<double>& beta) {
  const arma::uword steps = alpha.size();
  arma::mat T(steps, steps, arma::fill::zeros);
  for (arma::uword i = 0; i < steps; ++i) {
    T(i, i) = alpha[i];
    if (i + 1 < steps) T(i, i + 1) = T(i + 1, i) = beta[i];
  }
  const SymmetricEigen eigen = symmetric_eigen(T);
  return {eigen.w(steps - 1), eigen.Q(steps - 1, steps - 1)};
}

}  // namespace

double largest_eigenvalue(const arma::mat& S, const std::function<void()>& between_steps) {
  const arma::uword n = S.n_rows;
  if (n <= small_order || S.n_cols != n) {
    const arma::vec w = symmetric_eigenvalues(S);
    return w.is_empty() ? 0.0 : std::max(0.0, w.max());
  }
  require_finite("largest eigenvalue", S);
  const arma::uword steps = most_steps(n);
  arma::mat Q(n, steps);  // orthonormal columns; S Q = Q T + a remainder in the last column
  Q.col(0) = start(n);
  std::vector<double> alpha, beta;
  for (arma::uword j = 0; j < steps; ++j) {
    if (between_steps) between_steps();
    arma::vec w = S * Q.col(j);
    alpha.push_back(arma::dot(Q.col(j), w));
    // Orthogonalize against all earlier columns, twice: otherwise rounding reintroduces converged
    // directions.
    const arma::mat earlier(Q.memptr(), n, j + 1, false, true);
    for (int pass = 0; pass < 2; ++pass) w -= earlier * (earlier.t() * w);
    beta.push_back(arma::norm(w));
    const bool invariant = !(beta[j] > residual_limit * std::abs(alpha[0]));
    if (invariant || (j + 1) % steps_between_checks == 0 || j + 1 == steps) {
      const Ritz ritz = largest_ritz(alpha, beta);
      if (invariant || beta[j] * std::abs(ritz.last_component) <= residual_limit * ritz.value)
        return std::max(0.0, ritz.value);
    }
    if (j + 1 < steps) Q.col(j + 1) = w / beta[j];
  }
  return symmetric_eigenvalues(S).max();
}

}  // namespace ranklab
