// The diagonal block of [Spectral] Section 4.5: the weights gamma of an RMSNorm, in the loss
//
//   L(gamma) = ||Diag(gamma) A - Y||_F^2 / (2 n) + (C_op / 2) (a term of curvature at most ||delta||_inf^2 along a step delta)
//
// The first term's curvature along delta is sum_i delta_i^2 ||a_i||^2 / n with a_i the rows of A, so that the smallest constant
// for ||delta||_2^2 is the largest ||a_i||^2 / n, where the paper has ||A||_op^2 / n, which is never smaller; the smallest for
// ||delta||_inf^2 is ||A||_F^2 / n, as printed.
#pragma once

#include <armadillo>

#include "experiments/one_step_compare/regression/draw.hpp"

namespace ranklab {

struct DiagonalComparison {
  double L_F = 0.0;                                           // ||A||_op^2 / n, as printed
  double L_F_sharp = 0.0;                                     // max_i ||a_i||^2 / n
  double L_sign = 0.0;                                        // ||A||_F^2 / n
  double norm_1 = 0.0, norm_2_squared = 0.0, norm_inf = 0.0;  // of the gradient g
  double curvature_gd = 0.0;                                  // sum_i g_i^2 ||a_i||^2 / n
  double curvature_sign = 0.0;                                // sum of ||a_i||^2 / n where g_i is not 0

  bool defined() const { return norm_inf > 0; }
  /// ||g||_1^2 / ||g||_2^2, and ||g||_2^2 / ||g||_inf^2.
  double nuclear_rank() const { return norm_1 * norm_1 / norm_2_squared; }
  double stable_rank_g() const { return norm_2_squared / (norm_inf * norm_inf); }
  /// st(A) as printed, and what stands in its place with the sharp constant: ||A||_F^2 / max_i ||a_i||^2.
  double stable_rank_A() const { return L_sign / L_F; }
  double sharp_rank_A() const { return L_sign / L_F_sharp; }

  /// Decrease and guarantee of the step -g / a, a = L + C_op / st_diag(g), for a constant L of the Euclidean norm.
  double guarantee_gd(double L, double C_op = 0.0) const;
  double decrease_gd(double L, double C_op = 0.0) const;
  /// Of the step -(||g||_1 / b) sign(g), b = L_sign + C_op.
  double guarantee_sign(double C_op = 0.0) const;
  double decrease_sign(double C_op = 0.0) const;
};

/// A (k, n), gamma (k), Y (k, n).
DiagonalComparison compare_diagonal_steps(const arma::mat& A, const arma::vec& gamma, const arma::mat& Y);

/// The same with A the RMSNorm of the trial's activations, gamma = 1 + N(0, 1) and Y = Diag(gamma#) A + noise.
template <class T>
DiagonalComparison compare_diagonal_steps(const OneStepProblem<T>& problem, const Trial& trial);

}  // namespace ranklab
