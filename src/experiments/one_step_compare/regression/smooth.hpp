// One step on losses that are not quadratic: L(W) = f(W A), the gradient of f Lipschitz with constant L ([Spectral] eq. (1.6)).
#pragma once

#include <armadillo>

#include "experiments/one_step_compare/regression/draw.hpp"

namespace ranklab {

/// f(Z) = (1/n) sum of l(z_ij; y_ij): l = log cosh(z - y), whose curvature is at most 1, or the logistic loss
/// log(1 + exp(-y z)) of signs y, whose curvature is at most 1/4. So L = 1/n, or 1/(4 n).
enum class SmoothLoss { log_cosh, logistic };

/// l(z + step; y) - l(z; y), without the cancellation of the two values for a small step.
double loss_change(SmoothLoss loss, double z, double y, double step);
/// l'(z; y).
double loss_slope(SmoothLoss loss, double z, double y);
/// The Lipschitz constant of l'.
double loss_curvature(SmoothLoss loss);

/// Decreases of both steps over those that are guaranteed; NaN where the gradient is zero.
struct SmoothRatios {
  double gd, specgd;
};

/// With the constants ||A||_op^2 L and ||A||_F^2 L that the bounds after (1.6) give; and with L_F L and L_op L as printed,
/// where eq. (1.4) defines L_F and L_op, so that the steps are n times as long.
struct SmoothComparison {
  SmoothRatios corrected, as_printed;
};

/// Steps from W on f(W A; Y). A (k, n), W (m, k), Y (m, n).
template <class T>
SmoothComparison compare_smooth_steps(SmoothLoss loss, const arma::Mat<T>& A, const arma::Mat<T>& W, const arma::Mat<T>& Y);

/// The same on the trial's A, with W scaled so that the entries of W A have a root mean square between 0.1 and 10, and labels
/// of their own: N(0, r^2) with r in the same range for log cosh, random signs for the logistic loss.
template <class T>
SmoothComparison compare_smooth_steps(SmoothLoss loss, const OneStepProblem<T>& problem, const Trial& trial);

}  // namespace ranklab
