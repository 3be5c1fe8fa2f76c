#include "models/random_features.hpp"

#include <algorithm>
#include <limits>

#include "core/undefined.hpp"
#include "linalg/decompositions.hpp"
#include "models/activations.hpp"

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

template <class T>
arma::Mat<T> draw_random_features(const Streams& streams, const FeatureSizes& sizes,
                                  const std::string& activation, double v_std,
                                  const FeatureStreams& names) {
  const Activation& sigma = find_activation(activation);
  const arma::Mat<T> X = draw_gaussian<T>(streams, names.X.c_str(), sizes.d, sizes.n, 1.0);
  arma::Mat<T> A = draw_gaussian<T>(streams, names.V.c_str(), sizes.k, sizes.d, v_std) * X;
  apply(sigma, A);
  if (sigma.gated) A %= draw_gaussian<T>(streams, names.V2.c_str(), sizes.k, sizes.d, v_std) * X;
  return A;
}

template <class T>
arma::Mat<T> RegressionProblem<T>::gradient(const arma::Mat<T>& E) const {
  return E.each_row() % lambda;
}

template <class T>
double RegressionProblem<T>::objective_gap(const arma::Mat<T>& E) const {
  double sum = 0;
  for (arma::uword j = 0; j < E.n_cols; ++j) {
    double squared_norm = 0;
    for (const T* e = E.begin_col(j); e != E.end_col(j); ++e)
      squared_norm += static_cast<double>(*e) * static_cast<double>(*e);
    if (lambda(j) > 0) sum += static_cast<double>(lambda(j)) * squared_norm;
  }
  return sum / 2;
}

template <class T>
arma::Mat<T> RegressionProblem<T>::after_euclidean_step(const arma::Mat<T>& E, double scale) const {
  if (L_F == 0) return E;
  return E.each_row() % (T(1) - static_cast<T>(scale) * (lambda / lambda(0)));
}

template <class T>
RegressionProblem<T> regression_problem(const arma::Mat<T>& A, const arma::Mat<T>& W_sharp) {
  const arma::Mat<T> gram = A * A.t() / static_cast<T>(A.n_cols);
  const arma::mat B = arma::conv_to<arma::mat>::from(gram);
  SymmetricEigen eigen = symmetric_eigen(B);
  arma::vec lambda = arma::reverse(eigen.w);
  // A rank-deficient A gives eigenvalues of the size of rounding errors, of either sign.
  const double rounding =
      static_cast<double>(B.n_rows) * std::numeric_limits<T>::epsilon() * std::max(lambda(0), 0.0);
  lambda.elem(arma::find(lambda <= rounding)).zeros();

  RegressionProblem<T> problem;
  problem.lambda = arma::conv_to<arma::Row<T>>::from(lambda);
  problem.basis = arma::conv_to<arma::Mat<T>>::from(arma::fliplr(eigen.Q));
  problem.start = -W_sharp * problem.basis;
  problem.L_op = arma::trace(B);
  problem.L_F = lambda(0);
  problem.stable_rank_A = problem.L_F > 0 ? problem.L_op / problem.L_F : undefined;
  return problem;
}

#define RANKLAB_INSTANTIATE(T)                                                                 \
  template arma::Mat<T> draw_gaussian<T>(const Streams&, const char*, std::uint64_t,           \
                                         std::uint64_t, double);                               \
  template arma::Mat<T> draw_random_features<T>(                                               \
      const Streams&, const FeatureSizes&, const std::string&, double, const FeatureStreams&); \
  template struct RegressionProblem<T>;                                                        \
  template RegressionProblem<T> regression_problem<T>(const arma::Mat<T>&, const arma::Mat<T>&);
RANKLAB_INSTANTIATE(float)
RANKLAB_INSTANTIATE(double)
#undef RANKLAB_INSTANTIATE

}  // namespace ranklab
