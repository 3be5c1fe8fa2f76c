#include "experiments/one_step_compare/regression/diagonal.hpp"

#include <cmath>

#include "core/tolerances.hpp"
#include "linalg/spectra.hpp"
#include "models/random_features.hpp"
#include "models/tokens.hpp"

namespace ranklab {

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

DiagonalComparison compare_diagonal_steps(const arma::mat& A, const arma::vec& gamma, const arma::mat& Y) {
  const double n = static_cast<double>(A.n_cols);
  const arma::vec row_squares = arma::sum(arma::square(A), 1);
  arma::mat residual = A;
  residual.each_col() %= gamma;
  const arma::vec magnitude =
      arma::sqrt(row_squares) % arma::sqrt(arma::vec(arma::sum(arma::square(residual) + arma::square(Y), 1)));
  residual -= Y;
  arma::vec g = arma::sum(residual % A, 1) / n;
  // A sign step follows every sign, also that of rounding noise: entries that are nothing else are zero.
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
  for (arma::uword i = 0; i < g.n_elem; ++i) out.curvature_sign += g(i) == 0 ? 0.0 : row_squares(i) / n;
  return out;
}

template <class T>
DiagonalComparison compare_diagonal_steps(const OneStepProblem<T>& problem, const Trial& trial) {
  const arma::uword k = problem.A.n_rows, n = problem.A.n_cols;
  const arma::mat A = rms_normalised_columns(arma::conv_to<arma::mat>::from(problem.A));
  const arma::vec gamma = 1 + draw_gaussian<double>(trial, "gamma", k, 1, 1.0),
                  gamma_sharp = 1 + draw_gaussian<double>(trial, "gamma_sharp", k, 1, 1.0);
  const double noise = log_uniform_number(trial, "gamma.noise", 0.01, 1.0);
  const arma::mat Y = arma::diagmat(gamma_sharp) * A + draw_gaussian<double>(trial, "gamma.Y", k, n, noise);
  return compare_diagonal_steps(A, gamma, Y);
}

template DiagonalComparison compare_diagonal_steps(const OneStepProblem<float>&, const Trial&);
template DiagonalComparison compare_diagonal_steps(const OneStepProblem<double>&, const Trial&);

}  // namespace ranklab
