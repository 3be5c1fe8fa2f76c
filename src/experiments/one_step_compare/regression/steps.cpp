// One step of each kind on quadratic losses, on smooth losses, and on the gains of an RMSNorm.
#include <algorithm>

#include "ensembles/random_features.hpp"
#include "ensembles/tokens.hpp"
#include "experiments/one_step_compare/regression/regression.hpp"
#include "linalg/decompositions.hpp"
#include "linalg/spectra.hpp"

namespace ranklab::regression {
namespace {

// A rounding error of size e turns the singular vectors of a singular value s by up to e / s. The
// bound `noise` is itself about a hundred times the usual error, so that at this multiple of it
// five BLAS kernels agree on the ratio of the decreases to 4e-9; below it they differ by up to
// 4e-4.
constexpr double determined_over_noise = 100.0;

double squared_norm(const arma::mat& A) {
  return arma::dot(A, A);
}

double loss_of(const arma::mat& residual) {
  return squared_norm(residual) / (2 * static_cast<double>(residual.n_cols));
}

// L(W) - L(W + U), both computed.
double loss_difference(const OneStepProblem& problem, double loss, const arma::mat& U) {
  const arma::mat W = problem.W + U;
  return loss - loss_of(W * problem.A - problem.Y);
}

}  // namespace

GradientParts gradient_parts(arma::mat G, double noise) {
  const Svd<double> svd = thin_svd(G);
  const arma::uword rank = arma::accu(svd.s > noise);
  GradientParts parts;
  parts.polar = svd.U.head_cols(rank) * svd.V.head_cols(rank).t();  // zero for rank 0
  if (rank < svd.s.n_elem)
    G = svd.U.head_cols(rank) * arma::diagmat(svd.s.head(rank)) * svd.V.head_cols(rank).t();
  parts.G = std::move(G);
  const arma::vec s = arma::vec(singular_values(parts.G)).head(rank);
  parts.frobenius_squared = arma::dot(s, s);
  parts.nuclear = arma::accu(s);
  if (rank > 0) {
    parts.op = s(0);
    parts.smallest = s(rank - 1);
  }
  parts.nuclear_rank = nuclear_rank(s);
  parts.stable_rank = stable_rank(s);
  return parts;
}

double StepComparison::guarantee_gd(double C_op) const {
  return frobenius_squared / (2 * (L_F + C_op / stable_rank_G));
}

double StepComparison::guarantee_specgd(double C_op) const {
  return nuclear * nuclear / (2 * (L_op + C_op));
}

// -<G, U> - ||U A||_F^2 / (2 n) - C_op <u v', U>^2 / 2 at U = -G / a, where <u v', G> = ||G||_op
double StepComparison::decrease_gd(double C_op) const {
  const double a = L_F + C_op / stable_rank_G;
  return frobenius_squared / a - (curvature_gd + C_op * op * op) / (2 * a * a);
}

// The same expression at U = -t polar(G), t = ||G||_* / b; <u v', polar(G)> = 1
double StepComparison::decrease_specgd(double C_op) const {
  const double t = nuclear / (L_op + C_op);
  return t * inner - t * t * (curvature_specgd + C_op) / 2;
}

StepComparison compare_steps(const OneStepProblem& problem) {
  const arma::mat& A = problem.A;
  const double n = static_cast<double>(A.n_cols);
  const arma::mat prediction = problem.W * A, residual = prediction - problem.Y;
  const double A_op = operator_norm(A),
               magnitude = arma::norm(prediction, "fro") + arma::norm(problem.Y, "fro");
  const double longest_side = static_cast<double>(std::max({problem.W.n_rows, A.n_rows, A.n_cols}));
  StepComparison out;
  out.loss = loss_of(residual);
  out.L_F = A_op * A_op / n;
  out.L_op = squared_norm(A) / n;
  out.stable_rank_A = stable_rank(A);
  out.loss_rounding = tolerance::epsilon<double> * magnitude * magnitude / n;

  const double noise = longest_side * tolerance::epsilon<double> * magnitude * A_op / n;
  const GradientParts gradient = gradient_parts(residual * A.t() / n, noise);
  out.frobenius_squared = gradient.frobenius_squared;
  out.nuclear = gradient.nuclear;
  out.op = gradient.op;
  out.nuclear_rank = gradient.nuclear_rank;
  out.stable_rank_G = gradient.stable_rank;
  if (gradient.zero()) return out;
  out.determined = gradient.smallest >= determined_over_noise * noise;
  const arma::mat &G = gradient.G, &polar = gradient.polar;
  out.inner = arma::dot(G, polar);
  out.curvature_gd = squared_norm(G * A) / n;
  out.curvature_specgd = squared_norm(polar * A) / n;
  out.loss_difference_gd = loss_difference(problem, out.loss, G * (-1 / out.L_F));
  out.loss_difference_specgd =
      loss_difference(problem, out.loss, polar * (-gradient.nuclear / out.L_op));
  return out;
}

Conditions conditions(double nuclear_rank, double stable_rank_G, double stable_rank_A,
                      double alpha) {
  return {nuclear_rank * (1 + alpha / stable_rank_G) / (stable_rank_A + alpha),
          nuclear_rank * (1 + alpha / nuclear_rank) / (stable_rank_A + alpha),
          nuclear_rank / stable_rank_A};
}

// Losses that are not quadratic -------------------------------------------------------------------

namespace {

constexpr double
    least_size = 0.1,
    most_size = 10.0;  // of predictions and labels; the losses are most curved within this range

// log cosh(z), without the overflow of cosh.
double log_cosh(double z) {
  return std::fabs(z) + std::log1p(std::exp(-2 * std::fabs(z))) - std::log(2.0);
}

double softplus(double u) {
  return std::fmax(u, 0.0) + std::log1p(std::exp(-std::fabs(u)));
}

// The decrease of f(Z) = (1/n) sum of l(z_ij; y_ij) by Z <- Z + step.
double decrease(SmoothLoss loss, const arma::mat& Z, const arma::mat& Y, const arma::mat& step) {
  double sum = 0;
  for (arma::uword i = 0; i < Z.n_elem; ++i) sum -= loss_change(loss, Z(i), Y(i), step(i));
  return sum / static_cast<double>(Z.n_cols);
}

}  // namespace

double loss_change(SmoothLoss loss, double z, double y, double step) {
  constexpr double small =
      1.0;  // above it the exponentials may overflow, and there is no cancellation
  if (loss == SmoothLoss::log_cosh) {
    const double a = z - y;
    if (std::fabs(step) > small) return log_cosh(a + step) - log_cosh(a);
    // cosh(a + s) / cosh(a) - 1 = cosh(s) - 1 + tanh(a) sinh(s)
    return std::log1p(2 * std::pow(std::sinh(step / 2), 2) + std::tanh(a) * std::sinh(step));
  }
  if (std::fabs(step) > small) return softplus(-y * (z + step)) - softplus(-y * z);
  return std::log1p(std::expm1(-y * step) / (1 + std::exp(y * z)));
}

double loss_slope(SmoothLoss loss, double z, double y) {
  return loss == SmoothLoss::log_cosh ? std::tanh(z - y) : -y / (1 + std::exp(y * z));
}

double loss_curvature(SmoothLoss loss) {
  return loss == SmoothLoss::log_cosh ? 1.0 : 0.25;
}

SmoothComparison compare_smooth_steps(SmoothLoss loss, const arma::mat& A, const arma::mat& W,
                                      const arma::mat& Y) {
  const double n = static_cast<double>(A.n_cols), L = loss_curvature(loss) / n;
  const arma::mat Z = W * A;
  arma::mat slopes = Z;
  for (arma::uword i = 0; i < Z.n_elem; ++i) slopes(i) = loss_slope(loss, Z(i), Y(i)) / n;
  const double A_op = operator_norm(A), A_F2 = arma::dot(A, A);
  const double longest_side = static_cast<double>(std::max({W.n_rows, A.n_rows, A.n_cols}));
  const double noise = longest_side * tolerance::epsilon<double> * arma::norm(slopes, "fro") * A_op;
  const GradientParts gradient = gradient_parts(slopes * A.t(), noise);
  if (gradient.zero()) return {{undefined, undefined}, {undefined, undefined}};
  const arma::mat GA = gradient.G * A, PA = gradient.polar * A;
  const auto ratios = [&](double a, double b) {  // of the steps -G / a and -(||G||_* / b) polar(G)
    return SmoothRatios{decrease(loss, Z, Y, GA / -a) / (gradient.frobenius_squared / (2 * a)),
                        decrease(loss, Z, Y, PA * (-gradient.nuclear / b)) /
                            (std::pow(gradient.nuclear, 2) / (2 * b))};
  };
  return {ratios(A_op * A_op * L, A_F2 * L), ratios(A_op * A_op / n * L, A_F2 / n * L)};
}

SmoothComparison compare_smooth_steps(SmoothLoss loss, const OneStepProblem& problem,
                                      const Trial& trial) {
  const std::string name = loss == SmoothLoss::log_cosh ? "log-cosh" : "logistic";
  const arma::mat Z = problem.W * problem.A;
  const double size = std::sqrt(arma::dot(Z, Z) / static_cast<double>(Z.n_elem));
  if (size == 0) return {{undefined, undefined}, {undefined, undefined}};
  const double wanted =
      log_uniform_number(trial, (name + ".prediction").c_str(), least_size, most_size);
  const double size_of_labels =
      log_uniform_number(trial, (name + ".labels").c_str(), least_size, most_size);
  arma::mat Y =
      draw_gaussian<double>(trial, (name + ".Y").c_str(), Z.n_rows, Z.n_cols, size_of_labels);
  if (loss == SmoothLoss::logistic) {
    for (double& y : Y) y = y < 0 ? -1 : 1;
  }
  return compare_smooth_steps(loss, problem.A, problem.W * (wanted / size), Y);
}

// The diagonal block ------------------------------------------------------------------------------

double DiagonalComparison::guarantee_gd(double L, double C_op) const {
  return norm_2_squared / (2 * (L + C_op / stable_rank_g()));
}

double DiagonalComparison::decrease_gd(double L, double C_op) const {
  const double a = L + C_op / stable_rank_g();
  return norm_2_squared / a - (curvature_gd + C_op * norm_inf * norm_inf) / (2 * a * a);
}

double DiagonalComparison::guarantee_sign(double C_op) const {
  return norm_1 * norm_1 / (2 * (L_sign + C_op));
}

double DiagonalComparison::decrease_sign(double C_op) const {
  const double t = norm_1 / (L_sign + C_op);
  return t * norm_1 - t * t * (curvature_sign + C_op) / 2;
}

DiagonalComparison compare_diagonal_steps(const arma::mat& A, const arma::vec& gamma,
                                          const arma::mat& Y) {
  const double n = static_cast<double>(A.n_cols);
  const arma::vec row_squares = arma::sum(arma::square(A), 1);
  arma::mat residual = A;
  residual.each_col() %= gamma;
  const arma::vec magnitude =
      arma::sqrt(row_squares) %
      arma::sqrt(arma::vec(arma::sum(arma::square(residual) + arma::square(Y), 1)));
  residual -= Y;
  arma::vec g = arma::sum(residual % A, 1) / n;
  // A sign step also follows the signs of rounding errors, so entries of their size are set to
  // zero.
  for (arma::uword i = 0; i < g.n_elem; ++i) {
    if (std::fabs(g(i)) <= tolerance::epsilon<double> * magnitude(i)) g(i) = 0;
  }
  DiagonalComparison out;
  const double op = operator_norm(A);
  out.L_F = op * op / n;
  out.L_F_sharp = row_squares.max() / n;
  out.L_sign = arma::accu(row_squares) / n;
  out.norm_1 = arma::norm(g, 1);
  out.norm_2_squared = arma::dot(g, g);
  out.norm_inf = arma::abs(g).max();
  out.curvature_gd = arma::dot(arma::square(g), row_squares) / n;
  for (arma::uword i = 0; i < g.n_elem; ++i)
    out.curvature_sign += g(i) == 0 ? 0.0 : row_squares(i) / n;
  return out;
}

DiagonalComparison compare_diagonal_steps(const OneStepProblem& problem, const Trial& trial) {
  const arma::uword k = problem.A.n_rows, n = problem.A.n_cols;
  const arma::mat A = rms_normalized_columns(problem.A);
  const arma::vec gamma = 1 + draw_gaussian<double>(trial, "gamma", k, 1, 1.0),
                  gamma_sharp = 1 + draw_gaussian<double>(trial, "gamma_sharp", k, 1, 1.0);
  const double noise = log_uniform_number(trial, "gamma.noise", 0.01, 1.0);
  const arma::mat Y =
      arma::diagmat(gamma_sharp) * A + draw_gaussian<double>(trial, "gamma.Y", k, n, noise);
  return compare_diagonal_steps(A, gamma, Y);
}

}  // namespace ranklab::regression
