// Gradient descent on a quadratic in closed form. For L(W) = ||W A - Y||_F^2 / (2 n) the gradient
// obeys
//   G_{t+1} = G_t (I - eta B),   B = A A' / n,   so that   G_t = G_0 (I - eta B)^t,
// for any labels ([Spectral] Section 3: realizable, G_0 = -W# B at W_0 = 0; teacher-student, Lemma
// 3.10). Computations use the eigenbasis of B = U diag(lambda) U', which does not change singular
// values.
#pragma once

#include <armadillo>
#include <cstdint>

namespace ranklab {

class GramDescent {
 public:
  /// G_0 is m x k, B symmetric positive semidefinite k x k, eta > 0. The rows of G_0 must be in the
  /// range of B, as for every gradient (W A - Y) A' / n; rounding errors outside it are cleared.
  /// Throws Failure for non-finite entries, shapes that do not match, a step that is not positive
  /// and finite (unless B = 0), or an eigenvalue of B below -k epsilon ||B||.
  GramDescent(const arma::mat& G_0, const arma::mat& B, double eta);
  /// The same with eta = step(lambda, c, 0), computed from the eigenvalues of B.
  static GramDescent with_step(const arma::mat& G_0, const arma::mat& B, double c);
  /// The same problem at another step eta > 0.
  GramDescent with_eta(double eta) const;
  /// eta = 1 / (c ||B|| + offset) for the eigenvalues of B, descending; infinite if the denominator
  /// is 0.
  static double step(const arma::vec& lambda, double c, double offset);

  /// Eigenvalues of B, descending; those within rounding error of zero are set to zero.
  const arma::vec& lambda() const { return lambda_; }
  double eta() const { return eta_; }

  /// G_t itself, not rescaled: late iterates may underflow.
  arma::mat gradient(std::uint64_t t) const;
  /// L(W_0) - min L = tr(G_0 B^+ G_0') / 2, B^+ the pseudoinverse.
  double decrease_to_minimum() const;
  /// Singular values of G_t, descending, up to a common positive factor: the columns of G_t U are
  /// rescaled together so that late iterates do not underflow. Ranks are scale invariant.
  arma::vec singular_values(std::uint64_t t) const;
  /// nr(G_t); NaN if G_t is zero.
  double nuclear_rank(std::uint64_t t) const;
  /// log ||G_t||_F, also for real t >= 0, without underflow; minus infinity if G_t is zero.
  double log_frobenius(double t) const;
  /// Condition number of T = (I - eta B)^t B on the range of B, [Spectral] Lemma 3.5: the largest
  /// |lambda (1 - eta lambda)^t| over the smallest, for lambda > 0. Infinite if the smallest is
  /// zero, NaN for B = 0.
  double condition(std::uint64_t t) const;

 private:
  struct Eigenbasis {
    arma::vec lambda;
    arma::mat U;
  };
  static Eigenbasis eigenbasis(const arma::mat& G_0, const arma::mat& B);
  GramDescent(const arma::mat& G_0, Eigenbasis basis, double eta);
  void require_step() const;
  /// log |1 - eta lambda_j|; minus infinity if the step removes the direction to rounding.
  double log_factor(arma::uword j) const;

  arma::mat U_;        // (k, k)
  arma::mat rotated_;  // G_0 U, (m, k)
  arma::rowvec norm_;  // of its columns, (k)
  arma::vec lambda_;   // (k)
  double eta_;
};

}  // namespace ranklab
