// The config of the study regression and its mathematics: the random problem of a trial, and the
// decrease of the loss by one step of each kind.
//
// L(W) = ||W A - Y||_F^2 / (2 n) with A (k, n), W (m, k), Y (m, n). Legend: L_F = ||A||_op^2 / n,
// L_op = ||A||_F^2 / n; the steps are -G / a and -(||G||_* / b) polar(G) with a = L_F and b = L_op,
// or larger constants if the loss has a second term. A positive decrease means that the loss falls.
// [Spectral] Section 1.2 and eqs. (4.14) to (4.18).
#pragma once

#include <armadillo>

#include "experiments/kit.hpp"

namespace ranklab::regression {

struct Config : Study {
  // Sizes, each drawn log-uniformly: W (m, k), A (k, n).
  std::uint64_t m_low = 1, m_high = 128, k_low = 2, k_high = 128, n_low = 2, n_high = 512;
  // Constructions of A, one drawn per trial: `gaussian`, `power-law` (random singular vectors, s_i
  // = i^-p), or the activation sigma of random features sigma(V X).
  std::vector<std::string> features = {"gaussian", "power-law", "relu", "abs",   "leaky-relu",
                                       "relu2",    "gelu",      "silu", "swiglu"};
  // Constructions of Y, one drawn per trial: `realizable` (W# A), `noisy` (W# A + noise),
  // `arbitrary`, `low-rank` (the residual has low rank), `late` (realizable, with W after some
  // steps of gradient descent).
  std::vector<std::string> labels = {"realizable", "noisy", "arbitrary", "low-rank", "late"};
  double decay = 3.0;             // p of power-law features is uniform in [0, decay]
  double deficient = 0.3;         // share of gaussian and power-law A with a log-uniform rank
  double scale_decades = 3.0;     // A and W are each multiplied by 10^u, u uniform in +-this
  std::uint64_t late = 1000;      // largest number of steps of `late` labels, log-uniform from 1
  double coupling_decades = 2.0;  // C_op / L_F = 10^u, u uniform in +-this, eq. (4.16)

  std::vector<Field> flags() override;
  void check() const override;
  Estimate memory() const override;
  Work work() const override;
  std::string title() const override {
    return "One Euclidean and one spectral step on random regression problems";
  }
  void derive(Numbers& out) const override;
  void judge(const Records& records, Claims& claims) const override;
  void show(Display& out) const override;
};

// The problem (draw.cpp) --------------------------------------------------------------------------

struct OneStepProblem {
  arma::mat A, W, Y;
  std::size_t features = 0, labels = 0;  // indices into the config's lists
  double log10_scale = 0.0;              // log10 of the factor on A
};

/// Draws a problem; every matrix and every number has its own random stream.
OneStepProblem draw_one_step_problem(const Config& config, const Trial& trial);

/// A number from the stream `name`: uniform in (low, high), log-uniform in (low, high), or a
/// log-uniform integer in [low, high].
double uniform_number(const Trial& trial, const char* name, double low, double high);
double log_uniform_number(const Trial& trial, const char* name, double low, double high);
std::uint64_t log_uniform_integer(const Trial& trial, const char* name, std::uint64_t low,
                                  std::uint64_t high);

// Both steps (steps.cpp) --------------------------------------------------------------------------

/// A gradient without the singular values that are rounding errors, its polar factor, and its
/// norms.
struct GradientParts {
  arma::mat G, polar;  // (m, k); zero if all singular values are rounding errors
  double frobenius_squared = 0.0, nuclear = 0.0, op = 0.0;
  double smallest = 0.0;                         // singular value that was kept
  double nuclear_rank = 0.0, stable_rank = 0.0;  // NaN for a zero gradient

  bool zero() const { return op == 0; }
};

/// Singular values up to `noise`, the size of rounding errors, are removed, from G as well, because
/// a spectral step would follow them. Throws Failure for a non-finite G.
GradientParts gradient_parts(arma::mat G, double noise);

/// Both steps on one problem. All of the paper's inequalities are functions of these numbers.
struct StepComparison {
  double loss = 0.0, L_F = 0.0, L_op = 0.0, stable_rank_A = 0.0;
  double frobenius_squared = 0.0, nuclear = 0.0, op = 0.0, nuclear_rank = 0.0,
         stable_rank_G = 0.0;  // of G
  double inner = 0.0;          // <G, polar(G)>, equal to ||G||_* up to rounding
  double curvature_gd = 0.0, curvature_specgd = 0.0;  // ||G A||_F^2 / n and ||polar(G) A||_F^2 / n
  double loss_difference_gd = 0.0,
         loss_difference_specgd = 0.0;  // L(W) minus the loss after the step, both computed
  double loss_rounding = 0.0;  // unit of rounding of the two: epsilon (||W A||_F + ||Y||_F)^2 / n

  /// Whether rounding leaves the direction of the spectral step as it is: all singular values of G
  /// are far above their rounding errors.
  bool determined = false;

  bool defined() const { return op > 0; }
  /// nr(G) / st(A): the ratio of the guaranteed decreases, SpecGD over GD, eq. (1.5).
  double predicted_ratio() const { return nuclear_rank / stable_rank_A; }

  /// ||G||_F^2 / (2 a) and ||G||_*^2 / (2 b) with a = L_F + C_op / st(G) and b = L_op + C_op, eqs.
  /// (4.14), (4.15). At C_op = 0 they are the guarantees after eq. (1.4).
  double guarantee_gd(double C_op = 0.0) const;
  double guarantee_specgd(double C_op = 0.0) const;

  /// The decreases of the same steps by the exact expansion (1.3). With C_op > 0, the loss has the
  /// additional term C_op / 2 <u v', W' - W>^2, where u and v are the first singular vectors of G.
  /// The curvature of this term along U is at most C_op ||U||_op^2, with equality for both steps.
  double decrease_gd(double C_op = 0.0) const;
  double decrease_specgd(double C_op = 0.0) const;
};

StepComparison compare_steps(const OneStepProblem& problem);

/// The three conditions of [Spectral] Section 4.4 as the ratio of left to right side, at alpha =
/// C_op / L_F.
struct Conditions {
  double eq_4_16, eq_4_17, eq_4_18;
};
Conditions conditions(double nuclear_rank, double stable_rank_G, double stable_rank_A,
                      double alpha);

// Losses that are not quadratic (steps.cpp) -------------------------------------------------------
//
// L(W) = f(W A), where the gradient of f is Lipschitz with constant L ([Spectral] eq. (1.6)).

/// f(Z) = (1/n) sum of l(z_ij; y_ij): l = log cosh(z - y), whose curvature is at most 1, or the
/// logistic loss log(1 + exp(-y z)) of signs y, whose curvature is at most 1/4. Therefore L = 1/n
/// or L = 1/(4 n).
enum class SmoothLoss { log_cosh, logistic };

/// l(z + step; y) - l(z; y), without cancellation for a small step.
double loss_change(SmoothLoss loss, double z, double y, double step);
/// l'(z; y).
double loss_slope(SmoothLoss loss, double z, double y);
/// The Lipschitz constant of l'.
double loss_curvature(SmoothLoss loss);

/// The decrease of each step over its guarantee; NaN if the gradient is zero.
struct SmoothRatios {
  double gd, specgd;
};

/// `corrected`: with the constants ||A||_op^2 L and ||A||_F^2 L, which follow from the bounds after
/// (1.6). `as_printed`: with L_F L and L_op L, L_F and L_op as in eq. (1.4), so that the steps are
/// n times as long.
struct SmoothComparison {
  SmoothRatios corrected, as_printed;
};

/// Steps from W on f(W A; Y). A (k, n), W (m, k), Y (m, n).
SmoothComparison compare_smooth_steps(SmoothLoss loss, const arma::mat& A, const arma::mat& W,
                                      const arma::mat& Y);

/// Uses the trial's A, and W scaled so that the entries of W A have a root mean square between 0.1
/// and 10. The labels are new: N(0, r^2) with r in the same range for log cosh, random signs for
/// the logistic loss.
SmoothComparison compare_smooth_steps(SmoothLoss loss, const OneStepProblem& problem,
                                      const Trial& trial);

// The diagonal block (steps.cpp) ------------------------------------------------------------------
//
// [Spectral] Section 4.5: the gains gamma of an RMSNorm, with the loss
//
//   L(gamma) = ||Diag(gamma) A - Y||_F^2 / (2 n) + (C_op / 2) (a term of curvature at most
//   ||delta||_inf^2 along a step delta)
//
// The first term's curvature along delta is sum_i delta_i^2 ||a_i||^2 / n with a_i the rows of A,
// so the smallest constant for ||delta||_2^2 is max_i ||a_i||^2 / n. The paper has ||A||_op^2 / n,
// which is never smaller. The smallest constant for ||delta||_inf^2 is ||A||_F^2 / n, as printed.

struct DiagonalComparison {
  double L_F = 0.0;                                           // ||A||_op^2 / n, as printed
  double L_F_sharp = 0.0;                                     // max_i ||a_i||^2 / n
  double L_sign = 0.0;                                        // ||A||_F^2 / n
  double norm_1 = 0.0, norm_2_squared = 0.0, norm_inf = 0.0;  // of the gradient g
  double curvature_gd = 0.0;                                  // sum_i g_i^2 ||a_i||^2 / n
  double curvature_sign = 0.0;  // sum of ||a_i||^2 / n over the i with g_i != 0

  bool defined() const { return norm_inf > 0; }
  /// ||g||_1^2 / ||g||_2^2, and ||g||_2^2 / ||g||_inf^2.
  double nuclear_rank() const { return norm_1 * norm_1 / norm_2_squared; }
  double stable_rank_g() const { return norm_2_squared / (norm_inf * norm_inf); }
  /// st(A) as printed, and its replacement with the sharp constant, ||A||_F^2 / max_i ||a_i||^2.
  double stable_rank_A() const { return L_sign / L_F; }
  double sharp_rank_A() const { return L_sign / L_F_sharp; }

  /// Guarantee and decrease of the step -g / a, a = L + C_op / st_diag(g), where L is a constant
  /// for the Euclidean norm.
  double guarantee_gd(double L, double C_op = 0.0) const;
  double decrease_gd(double L, double C_op = 0.0) const;
  /// Guarantee and decrease of the step -(||g||_1 / b) sign(g), b = L_sign + C_op.
  double guarantee_sign(double C_op = 0.0) const;
  double decrease_sign(double C_op = 0.0) const;
};

/// A (k, n), gamma (k), Y (k, n).
DiagonalComparison compare_diagonal_steps(const arma::mat& A, const arma::vec& gamma,
                                          const arma::mat& Y);

/// Uses the RMSNorm of the trial's activations as A, gamma = 1 + N(0, 1) and Y = Diag(gamma#) A +
/// noise.
DiagonalComparison compare_diagonal_steps(const OneStepProblem& problem, const Trial& trial);

}  // namespace ranklab::regression
