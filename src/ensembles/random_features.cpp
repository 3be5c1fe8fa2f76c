#include "ensembles/random_features.hpp"

#include <algorithm>
#include <limits>

#include "core/undefined.hpp"
#include "ensembles/activations.hpp"
#include "linalg/decompositions.hpp"

namespace ranklab {

template <class T>
arma::Mat<T> draw_gaussian(const Streams& streams, const char* name, std::uint64_t rows,
                           std::uint64_t columns, double std) {
  // Drawn in double precision for any T, so that a single-precision run sees the same matrices,
  // rounded.
  arma::mat drawn(rows, columns, arma::fill::none);
  streams.stream(name).fill_normal({drawn.memptr(), drawn.n_elem}, std);
  return arma::conv_to<arma::Mat<T>>::from(drawn);
}

template arma::fmat draw_gaussian<float>(const Streams&, const char*, std::uint64_t, std::uint64_t,
                                         double);
template arma::mat draw_gaussian<double>(const Streams&, const char*, std::uint64_t, std::uint64_t,
                                         double);

arma::mat draw_random_features(const Streams& streams, const FeatureSizes& sizes,
                               const std::string& activation, double v_std,
                               const FeatureStreams& names) {
  const Activation& sigma = find_activation(activation);
  const arma::mat X = draw_gaussian<double>(streams, names.X.c_str(), sizes.d, sizes.n, 1.0);
  arma::mat A = draw_gaussian<double>(streams, names.V.c_str(), sizes.k, sizes.d, v_std) * X;
  apply(sigma, A);
  if (sigma.gated)
    A %= draw_gaussian<double>(streams, names.V2.c_str(), sizes.k, sizes.d, v_std) * X;
  return A;
}

arma::mat RegressionProblem::gradient(const arma::mat& E) const {
  return E.each_row() % lambda;
}

double RegressionProblem::objective_gap(const arma::mat& E) const {
  double sum = 0;
  for (arma::uword j = 0; j < E.n_cols; ++j) {
    double squared_norm = 0;
    for (const double* e = E.begin_col(j); e != E.end_col(j); ++e) squared_norm += *e * *e;
    if (lambda(j) > 0) sum += lambda(j) * squared_norm;
  }
  return sum / 2;
}

arma::mat RegressionProblem::after_euclidean_step(const arma::mat& E, double scale) const {
  if (L_F == 0) return E;
  return E.each_row() % (1.0 - scale * (lambda / lambda(0)));
}

RegressionProblem regression_problem(const arma::mat& A, const arma::mat& W_sharp) {
  const arma::mat B = A * A.t() / static_cast<double>(A.n_cols);
  SymmetricEigen eigen = symmetric_eigen(B);
  arma::vec lambda = arma::reverse(eigen.w);
  // A rank-deficient A gives eigenvalues of the size of rounding errors, of either sign.
  const double rounding = static_cast<double>(B.n_rows) * std::numeric_limits<double>::epsilon() *
                          std::max(lambda(0), 0.0);
  lambda.elem(arma::find(lambda <= rounding)).zeros();

  RegressionProblem problem;
  problem.lambda = lambda.t();
  problem.basis = arma::fliplr(eigen.Q);
  problem.start = -W_sharp * problem.basis;
  problem.L_op = arma::trace(B);
  problem.L_F = lambda(0);
  problem.stable_rank_A = problem.L_F > 0 ? problem.L_op / problem.L_F : undefined;
  return problem;
}

}  // namespace ranklab
