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
  /// G_0 is m x k, B symmetric positive semidefinite k x k, eta > 0. The rows of G_0 must lie in the range of B, as those of
  /// every gradient (W A - Y) A' / n do: what rounding leaves outside is cleared. Throws Failure for non-finite entries, shapes
  /// that do not pair (both are named), a step that is not positive and finite (unless B = 0), or a B with an eigenvalue below
  /// -k epsilon ||B||.
  GramDescent(const arma::mat& G_0, const arma::mat& B, double eta);
  /// The same with eta = step(lambda, c, offset), from the eigenvalues that the decomposition finds.
  static GramDescent with_step(const arma::mat& G_0, const arma::mat& B, double c, double offset);
  /// The same problem at another step eta > 0.
  GramDescent with_eta(double eta) const;
  /// eta = 1 / (c ||B|| + offset) for the eigenvalues of B, descending; infinite where that is 1 / 0.
  static double step(const arma::vec& lambda, double c, double offset);

  /// Eigenvalues of B, descending; those that are zero to rounding are zero.
  const arma::vec& lambda() const { return lambda_; }
  double eta() const { return eta_; }

  /// G_t itself, not rescaled: late iterates may underflow.
  arma::mat gradient(std::uint64_t t) const;
  /// L(W_0) - min L = tr(G_0 B^+ G_0') / 2, B^+ the pseudoinverse.
  double decrease_to_minimum() const;
  /// Singular values of G_t, descending, up to a common positive factor: the columns of G_t U are rescaled together so that
  /// late iterates do not underflow. Ranks are scale invariant.
  arma::vec singular_values(std::uint64_t t) const;
  /// nr(G_t); NaN where G_t is zero.
  double nuclear_rank(std::uint64_t t) const;
  /// log ||G_t||_F, for real t >= 0 too, without underflow; minus infinity where G_t is zero.
  double log_frobenius(double t) const;
  /// Condition number of T = (I - eta B)^t B on the range of B, [Spectral] Lemma 3.5: the largest |lambda (1 - eta lambda)^t|
  /// over the smallest, among lambda > 0. Infinite where the smallest is zero, NaN for B = 0.
  double condition(std::uint64_t t) const;

 private:
  struct Eigenbasis {
    arma::vec lambda;
    arma::mat U;
  };
  static Eigenbasis eigenbasis(const arma::mat& G_0, const arma::mat& B);
  GramDescent(const arma::mat& G_0, Eigenbasis basis, double eta);
  void require_step() const;
  /// log |1 - eta lambda_j|; minus infinity where the step clears the direction to rounding.
  double log_factor(arma::uword j) const;

  arma::mat U_;        // (k, k)
  arma::mat rotated_;  // G_0 U, (m, k)
  arma::rowvec norm_;  // of its columns, (k)
  arma::vec lambda_;   // (k)
  double eta_;
};

}  // namespace ranklab
