#include "training/layers/affine_norm.hpp"

#include "training/layers/linear.hpp"

namespace ranklab {

template <class T>
AffineNorm<T>::AffineNorm(Norm kind, arma::uword dim, const InitialWeights& initial, double epsilon)
    : kind_(trainable(kind)),
      epsilon_(epsilon),
      gain_(initial.constant<T>("gain", dim, 1, 1.0)),
      bias_(initial.constant<T>("bias", dim, 1, 0.0)) {}

template <class T>
std::vector<Parameter<T>*> AffineNorm<T>::parameters() {
  if (kind_ == Norm::rms) return {&gain_};
  return {&gain_, &bias_};
}

template <class T>
void AffineNorm<T>::forward(const arma::Mat<T>& X, arma::Mat<T>& Y) {
  for (arma::Mat<T>* out : {&pass_.A, &Y}) out->set_size(X.n_rows, X.n_cols);
  pass_.inverse.set_size(X.n_cols);
  const T *const gain = gain_.W.memptr(), *const bias = bias_.W.memptr();
  with_width(X.n_rows, [&](const auto d) {
    for (arma::uword n = 0; n < X.n_cols; ++n) {
      T *const a = pass_.A.memptr() + n * d, *const y = Y.memptr() + n * d;
      pass_.inverse[n] =
          normalize(kind_ == Norm::layer, X.memptr() + n * d, d, static_cast<T>(epsilon_), a);
#pragma omp simd
      for (arma::uword i = 0; i < d; ++i) y[i] = gain[i] * a[i] + bias[i];
    }
  });
}

template <class T>
void AffineNorm<T>::backward(const arma::Mat<T>& dY, arma::Mat<T>& dX) {
  da_.zeros(2 * dY.n_rows);
  T *const dgain = gain_.G.memptr(), *const da = da_.memptr(), *const unused = da + dY.n_rows,
           *const dbias = kind_ == Norm::layer ? bias_.G.memptr() : unused;
  const T* const gain = gain_.W.memptr();
  with_width(dY.n_rows, [&](const auto d) {
    for (arma::uword n = 0; n < dY.n_cols; ++n) {
      const T *const g = dY.memptr() + n * d, *const a = pass_.A.memptr() + n * d;
#pragma omp simd
      for (arma::uword i = 0; i < d; ++i) {
        dbias[i] += g[i];
        dgain[i] += g[i] * a[i];
        da[i] = g[i] * gain[i];
      }
      normalize_backward(kind_ == Norm::layer, a, pass_.inverse[n], da, d, dX.memptr() + n * d);
    }
  });
}

template class AffineNorm<float>;
template class AffineNorm<double>;

}  // namespace ranklab
