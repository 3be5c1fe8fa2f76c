#include "nn/optimizers/muon.hpp"

#include <algorithm>
#include <cmath>

#include "linalg/polar.hpp"

namespace ranklab {
namespace {

constexpr double smallest_kept =
    1e-7;  // singular values of the exact factor, relative to the largest

template <class T>
arma::Mat<T> exact_factor(const arma::Mat<T>& u) {
  return arma::conv_to<arma::Mat<T>>::from(
      polar_factor(arma::conv_to<arma::mat>::from(u), smallest_kept).factor);
}

}  // namespace

template <class T>
arma::Mat<T> Muon<T>::step(const arma::Mat<T>& g) {
  if (m_.is_empty()) m_.zeros(g.n_rows, g.n_cols);
  m_ = beta_ * m_ + (1 - beta_) * g;
  const arma::Mat<T> u = (1 - beta_) * g + beta_ * m_;
  const double aspect = static_cast<double>(g.n_rows) / static_cast<double>(g.n_cols);
  return static_cast<T>(-std::sqrt(std::max(1.0, aspect))) *
         (exact_ ? exact_factor(u) : newton_schulz(u));
}

template class Muon<float>;
template class Muon<double>;

}  // namespace ranklab
