// One Euclidean and one spectral step from W, and what they gain: [Spectral] Section 1.2 and eqs. (4.14) to (4.18).
//
// Legend: L_F = ||A||_op^2 / n, L_op = ||A||_F^2 / n; the steps are -G / a and -(||G||_* / b) polar(G) with a = L_F and b = L_op,
// or larger constants where the loss has a second term. Decreases are positive where the loss falls.
#pragma once

#include <armadillo>

#include "experiments/one_step_compare/regression/draw.hpp"

namespace ranklab {

/// A gradient without the singular values that are rounding noise, its polar factor, and its norms.
template <class T>
struct GradientParts {
  arma::Mat<T> G, polar;  // (m, k); zero where the gradient is nothing but noise
  double frobenius_squared = 0.0, nuclear = 0.0, op = 0.0;
  double nuclear_rank = 0.0, stable_rank = 0.0;  // NaN for a zero gradient

  bool zero() const { return op == 0; }
};

/// `noise` is the size of singular values that rounding alone makes: those up to it are dropped, from G too, as a spectral
/// step would otherwise follow noise. Throws Failure for a non-finite G.
template <class T>
GradientParts<T> gradient_parts(arma::Mat<T> G, double noise);

/// What one problem says about both steps; all of the paper's inequalities are functions of it.
struct StepComparison {
  double loss = 0.0, L_F = 0.0, L_op = 0.0, stable_rank_A = 0.0;
  double frobenius_squared = 0.0, nuclear = 0.0, op = 0.0, nuclear_rank = 0.0, stable_rank_G = 0.0;  // of G
  double inner = 0.0;                                             // <G, polar(G)>, ||G||_* to rounding
  double curvature_gd = 0.0, curvature_specgd = 0.0;              // ||G A||_F^2 / n and ||polar(G) A||_F^2 / n
  double loss_difference_gd = 0.0, loss_difference_specgd = 0.0;  // L(W) less the loss after the step, as computed
  double loss_rounding = 0.0;  // how far rounding may move the two: epsilon (||W A||_F + ||Y||_F)^2 / n

  bool defined() const { return op > 0; }
  /// nr(G) / st(A): the ratio of the guaranteed decreases, SpecGD over GD, eq. (1.5).
  double predicted_ratio() const { return nuclear_rank / stable_rank_A; }

  /// ||G||_F^2 / (2 a) and ||G||_*^2 / (2 b) with a = L_F + C_op / st(G) and b = L_op + C_op, eqs. (4.14), (4.15); those after
  /// eq. (1.4) at C_op = 0.
  double guarantee_gd(double C_op = 0.0) const;
  double guarantee_specgd(double C_op = 0.0) const;

  /// The decreases by the exact expansion (1.3), at the same steps. With C_op > 0 of the loss with C_op / 2 <u v', W' - W>^2
  /// added, where u, v are G's first singular vectors: its curvature is at most C_op ||U||_op^2, and reaches that for both steps.
  double decrease_gd(double C_op = 0.0) const;
  double decrease_specgd(double C_op = 0.0) const;
};

template <class T>
StepComparison compare_steps(const OneStepProblem<T>& problem);

/// The three conditions of [Spectral] Section 4.4 as left side over right side, at alpha = C_op / L_F.
struct Conditions {
  double eq_4_16, eq_4_17, eq_4_18;
};
Conditions conditions(double nuclear_rank, double stable_rank_G, double stable_rank_A, double alpha);

}  // namespace ranklab
