#include "experiments/one_step_compare/regression/steps.hpp"

#include <algorithm>
#include <cmath>

#include "core/tolerances.hpp"
#include "linalg/decompositions.hpp"
#include "linalg/spectra.hpp"

namespace ranklab {
namespace {

template <class T>
arma::mat widened(const arma::Mat<T>& A) {
  return arma::conv_to<arma::mat>::from(A);
}

double squared_norm(const arma::mat& A) {
  return arma::dot(A, A);
}

double loss_of(const arma::mat& residual) {
  return squared_norm(residual) / (2 * static_cast<double>(residual.n_cols));
}

// L(W) - L(W + U), both computed: W + U is rounded to the experiment's precision.
template <class T>
double loss_difference(const OneStepProblem<T>& problem, double loss, const arma::Mat<T>& U) {
  const arma::Mat<T> W = problem.W + U;
  return loss - loss_of(widened<T>(W * problem.A - problem.Y));
}

}  // namespace

template <class T>
GradientParts<T> gradient_parts(arma::Mat<T> G, double noise) {
  const Svd<T> svd = thin_svd(G);
  const arma::vec all = arma::conv_to<arma::vec>::from(svd.s);
  const arma::uword rank = arma::accu(all > noise);
  GradientParts<T> parts;
  parts.polar = svd.U.head_cols(rank) * svd.V.head_cols(rank).t();  // zero for rank 0
  if (rank < svd.s.n_elem) G = svd.U.head_cols(rank) * arma::diagmat(svd.s.head(rank)) * svd.V.head_cols(rank).t();
  parts.G = std::move(G);
  const arma::vec s = arma::vec(singular_values(widened(parts.G))).head(rank);
  parts.frobenius_squared = arma::dot(s, s);
  parts.nuclear = arma::accu(s);
  parts.op = rank > 0 ? s(0) : 0.0;
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

// The same at U = -t polar(G), t = ||G||_* / b, where <u v', polar(G)> = 1
double StepComparison::decrease_specgd(double C_op) const {
  const double t = nuclear / (L_op + C_op);
  return t * inner - t * t * (curvature_specgd + C_op) / 2;
}

template <class T>
StepComparison compare_steps(const OneStepProblem<T>& problem) {
  const double n = static_cast<double>(problem.A.n_cols);
  const arma::Mat<T> prediction = problem.W * problem.A, residual = prediction - problem.Y;
  const arma::mat A = widened(problem.A);
  const double A_op = operator_norm(A), magnitude = arma::norm(widened(prediction), "fro") + arma::norm(widened(problem.Y), "fro");
  const double largest_size = static_cast<double>(std::max({problem.W.n_rows, problem.A.n_rows, problem.A.n_cols}));
  StepComparison out;
  out.loss = loss_of(widened(residual));
  out.L_F = A_op * A_op / n;
  out.L_op = squared_norm(A) / n;
  out.stable_rank_A = stable_rank(A);
  out.loss_rounding = tolerance::epsilon<T> * magnitude * magnitude / n;

  const double noise = largest_size * tolerance::epsilon<T> * magnitude * A_op / n;
  const GradientParts<T> gradient = gradient_parts<T>(residual * problem.A.t() / static_cast<T>(n), noise);
  out.frobenius_squared = gradient.frobenius_squared;
  out.nuclear = gradient.nuclear;
  out.op = gradient.op;
  out.nuclear_rank = gradient.nuclear_rank;
  out.stable_rank_G = gradient.stable_rank;
  if (gradient.zero()) return out;
  const arma::mat G = widened(gradient.G), polar = widened(gradient.polar);
  out.inner = arma::dot(G, polar);
  out.curvature_gd = squared_norm(G * A) / n;
  out.curvature_specgd = squared_norm(polar * A) / n;
  out.loss_difference_gd = loss_difference<T>(problem, out.loss, gradient.G * static_cast<T>(-1 / out.L_F));
  out.loss_difference_specgd = loss_difference<T>(problem, out.loss, gradient.polar * static_cast<T>(-gradient.nuclear / out.L_op));
  return out;
}

Conditions conditions(double nuclear_rank, double stable_rank_G, double stable_rank_A, double alpha) {
  return {nuclear_rank * (1 + alpha / stable_rank_G) / (stable_rank_A + alpha),
          nuclear_rank * (1 + alpha / nuclear_rank) / (stable_rank_A + alpha), nuclear_rank / stable_rank_A};
}

template GradientParts<float> gradient_parts(arma::fmat, double);
template GradientParts<double> gradient_parts(arma::mat, double);
template StepComparison compare_steps(const OneStepProblem<float>&);
template StepComparison compare_steps(const OneStepProblem<double>&);

}  // namespace ranklab
