#include "nn/layers/affine_norm.hpp"

#include <algorithm>

#include "nn/layers/linear.hpp"

namespace ranklab {

template <class T>
AffineNorm<T>::AffineNorm(const NormShape& shape, arma::uword dim, const InitialWeights& initial)
    : shape_(shape),
      gain_(initial.without_decay<T>("gain", dim, 1, EntryLaw::constant(1))),
      bias_(initial.without_decay<T>("bias", dim, 1, EntryLaw::constant(0))) {
  trainable(shape.kind);
}

template <class T>
std::vector<Parameter<T>*> AffineNorm<T>::parameters() {
  if (!shape_.gains) return {};
  if (shape_.kind == Norm::rms) return {&gain_};
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
      pass_.inverse[n] = normalize(shape_.kind == Norm::layer, X.memptr() + n * d, d,
                                   static_cast<T>(shape_.epsilon), a);
      if (!shape_.gains) {
        std::copy(a, a + d, y);
        continue;
      }
#pragma omp simd
      for (arma::uword i = 0; i < d; ++i) y[i] = gain[i] * a[i] + bias[i];
    }
  });
}

template <class T>
void AffineNorm<T>::backward(const arma::Mat<T>& dY, arma::Mat<T>& dX) {
  if (!shape_.gains) return normalize_backward(shape_.kind, pass_, dY, dX);
  da_.zeros(2 * dY.n_rows);
  T *const dgain = gain_.G.memptr(), *const da = da_.memptr(), *const unused = da + dY.n_rows,
           *const dbias = shape_.kind == Norm::layer ? bias_.G.memptr() : unused;
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
      normalize_backward(shape_.kind == Norm::layer, a, pass_.inverse[n], da, d,
                         dX.memptr() + n * d);
    }
  });
}

template class AffineNorm<float>;
template class AffineNorm<double>;

}  // namespace ranklab
