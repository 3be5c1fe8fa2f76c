#include "experiments/spike_plus_bulk/features/samples.hpp"

#include <algorithm>

namespace ranklab {
namespace {

constexpr std::uint64_t block_columns = 1024;

PairSums empty_sums(arma::uword rows, arma::uword columns) {
  return {0.0, arma::vec(rows, arma::fill::zeros), arma::vec(columns, arma::fill::zeros),
          arma::mat(rows, columns, arma::fill::zeros)};
}

template <class T>
arma::vec row_sums(const arma::Mat<T>& A) {
  arma::vec sums(A.n_rows, arma::fill::zeros);
  for (arma::uword j = 0; j < A.n_cols; ++j) {
    for (arma::uword i = 0; i < A.n_rows; ++i) sums(i) += static_cast<double>(A(i, j));
  }
  return sums;
}

template <class T>
void add_products(PairSums& sums, const arma::Mat<T>& product, arma::uword samples) {
  sums.product += arma::conv_to<arma::mat>::from(product);
  sums.n += static_cast<double>(samples);
}

template <class T>
FeatureSamples sample(const Trial& trial, const FeatureSize& size, const Activation& activation, const arma::mat& V_double,
                      const arma::mat& V_bar_double) {
  const auto V = arma::conv_to<arma::Mat<T>>::from(V_double), V_bar = arma::conv_to<arma::Mat<T>>::from(V_bar_double);
  FeatureSamples samples;
  Stream stream = trial.stream(size.stream("X"));
  arma::Mat<T> A, A_bar, X;
  arma::mat drawn;
  for (std::size_t half = 0; half < 2; ++half) {
    PairSums& student = samples.student[half] = empty_sums(V.n_rows, V.n_rows);
    PairSums& cross = samples.cross[half] = empty_sums(V_bar.n_rows, V.n_rows);
    const std::uint64_t end = half == 0 ? size.n / 2 : size.n - size.n / 2;
    for (std::uint64_t start = 0; start < end; start += block_columns) {
      trial.check_interrupt();
      drawn.set_size(size.d, std::min(block_columns, end - start));
      stream.fill_normal({drawn.memptr(), drawn.n_elem});
      X = arma::conv_to<arma::Mat<T>>::from(drawn);
      A = V * X;
      apply(activation, A);
      const arma::vec sum = row_sums(A);
      student.left += sum;
      student.right += sum;
      add_products<T>(student, A * A.t(), A.n_cols);
      if (V_bar.is_empty()) continue;
      A_bar = V_bar * X;
      apply(activation, A_bar);
      cross.left += row_sums(A_bar);
      cross.right += sum;
      add_products<T>(cross, A_bar * A.t(), A.n_cols);
    }
  }
  return samples;
}

}  // namespace

PairSums& PairSums::operator+=(const PairSums& other) {
  n += other.n;
  left += other.left;
  right += other.right;
  product += other.product;
  return *this;
}

PairSums FeatureSamples::total(const std::array<PairSums, 2>& halves) {
  PairSums sums = halves[0];
  sums += halves[1];
  return sums;
}

FeatureSamples sample_features(const Trial& trial, const FeatureSize& size, const Activation& activation, const arma::mat& V,
                               const arma::mat& V_bar, bool single_precision) {
  if (single_precision) return sample<float>(trial, size, activation, V, V_bar);
  return sample<double>(trial, size, activation, V, V_bar);
}

double unbiased_squared_error(const std::array<PairSums, 2>& halves, const arma::mat& C) {
  const arma::mat first = halves[0].covariance() - C, second = halves[1].covariance() - C;
  return arma::dot(first, second) / arma::dot(C, C);
}

}  // namespace ranklab
