// Gradient descent on a quadratic in closed form. For L(W) = ||W A - Y||_F^2 / (2 n) the gradient obeys
//   G_{t+1} = G_t (I - eta B),   B = A A' / n,   so that   G_t = G_0 (I - eta B)^t,
// whatever the labels are ([Spectral] Section 3: realizable, G_0 = -W# B at W_0 = 0; teacher-student, Lemma 3.10).
// Everything is done in the eigenbasis of B = U diag(lambda) U', which singular values do not see.
#pragma once

#include <armadillo>
#include <cstdint>

namespace ranklab {

class GramDescent {
 public:
  /// G_0 is m x k, B symmetric positive semidefinite k x k, eta > 0. Throws Failure for non-finite entries, shapes that do not
  /// pair (both are named), or a B with an eigenvalue below -k epsilon ||B||.
  GramDescent(const arma::mat& G_0, const arma::mat& B, double eta);
  /// The same with eta = 1 / (c ||B|| + offset). Differs in nothing else.
  static double step(const arma::vec& lambda, double c, double offset);

  /// Eigenvalues of B, descending; those that are zero to rounding are zero.
  const arma::vec& lambda() const { return lambda_; }
  double eta() const { return eta_; }

  /// Singular values of G_t, descending, up to a common positive factor: the columns of G_t U are rescaled together so that
  /// late iterates do not underflow. Ranks are scale invariant.
  arma::vec singular_values(std::uint64_t t) const;
  /// nr(G_t); NaN where G_t is zero.
  double nuclear_rank(std::uint64_t t) const;
  /// Condition number of T = (I - eta B)^t B on its range, [Spectral] Lemma 3.5; infinite where (I - eta B) is singular.
  double condition(std::uint64_t t) const;

 private:
  arma::mat rotated_;  // G_0 U, (m, k)
  arma::vec lambda_;   // (k)
  double eta_;
};

}  // namespace ranklab
