#include "models/random_features.hpp"

#include <limits>
#include <type_traits>

#include "linalg/decompositions.hpp"
#include "models/activations.hpp"

namespace ranklab {

template <class T>
arma::Mat<T> draw_gaussian(const Trial& trial, const char* name, std::uint64_t rows, std::uint64_t columns, double std) {
  // Drawn in double for either precision, so that a single-precision run sees the same matrices, rounded.
  arma::mat drawn(rows, columns, arma::fill::none);
  trial.stream(name).fill_normal({drawn.memptr(), drawn.n_elem}, std);
  return arma::conv_to<arma::Mat<T>>::from(drawn);
}

template <class T>
arma::Mat<T> draw_random_features(const Trial& trial, const FeatureSizes& sizes, const std::string& activation, double v_std) {
  const Activation& sigma = find_activation(activation);
  const arma::Mat<T> X = draw_gaussian<T>(trial, "X", sizes.d, sizes.n, 1.0);
  arma::Mat<T> A = draw_gaussian<T>(trial, "V", sizes.k, sizes.d, v_std) * X;
  apply(sigma, A);
  if (sigma.gated) A %= draw_gaussian<T>(trial, "V2", sizes.k, sizes.d, v_std) * X;
  return A;
}

template <class T>
double RegressionProblem<T>::objective_gap(const arma::Mat<T>& E, const arma::Mat<T>& G) const {
  if constexpr (std::is_same_v<T, double>) {
    return 0.5 * arma::dot(E, G);
  } else {
    return 0.5 * arma::dot(arma::conv_to<arma::mat>::from(E), arma::conv_to<arma::mat>::from(G));
  }
}

template <class T>
RegressionProblem<T> regression_problem(const arma::Mat<T>& A, arma::Mat<T> W_sharp) {
  RegressionProblem<T> problem;
  problem.W_sharp = std::move(W_sharp);
  problem.B = A * A.t() / static_cast<T>(A.n_cols);
  const arma::mat B = arma::conv_to<arma::mat>::from(problem.B);
  problem.L_op = arma::trace(B);
  problem.L_F = symmetric_eigenvalues(B).max();
  problem.stable_rank_A = problem.L_op > 0 ? problem.L_op / problem.L_F : std::numeric_limits<double>::quiet_NaN();
  return problem;
}

#define RANKLAB_INSTANTIATE(T)                                                                                  \
  template arma::Mat<T> draw_gaussian<T>(const Trial&, const char*, std::uint64_t, std::uint64_t, double);      \
  template arma::Mat<T> draw_random_features<T>(const Trial&, const FeatureSizes&, const std::string&, double); \
  template struct RegressionProblem<T>;                                                                         \
  template RegressionProblem<T> regression_problem<T>(const arma::Mat<T>&, arma::Mat<T>);
RANKLAB_INSTANTIATE(float)
RANKLAB_INSTANTIATE(double)
#undef RANKLAB_INSTANTIATE

}  // namespace ranklab
