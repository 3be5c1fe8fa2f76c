// RMS and layer norm without gain and bias, forward and backward.
#pragma once

#include <armadillo>
#include <cmath>
#include <type_traits>

#include "nn/blocks/norms.hpp"

namespace ranklab {

/// Values of the forward pass that the backward pass needs.
template <class T>
struct NormPass {
  arma::Mat<T> A;  // (d, N): a = (u - c) / s of each token u, with c = 0 (rms) or mean(u) (layer)
  arma::Row<T> inverse;  // (1, N): 1 / s, s^2 = mean((u - c)^2) + epsilon
};

/// Returns `kind`. Throws std::logic_error unless it is rms or layer.
Norm trainable(Norm kind);

/// X (d, N) -> pass.A. `kind` must be trainable.
template <class T>
void normalize(Norm kind, double epsilon, const arma::Mat<T>& X, NormPass<T>& pass);

/// dX += (dA - [mean(dA)] - a mean(a o dA)) / s for each token; the mean of dA only for layer.
template <class T>
void normalize_backward(Norm kind, const NormPass<T>& pass, const arma::Mat<T>& dA,
                        arma::Mat<T>& dX);

/// Calls f(d), with common small widths as compile-time constants, so that loops have constant
/// bounds and stay in registers.
template <class F>
void with_width(arma::uword d, const F& f) {
  switch (d) {
    case 8:
      return f(std::integral_constant<arma::uword, 8>());
    case 16:
      return f(std::integral_constant<arma::uword, 16>());
    case 32:
      return f(std::integral_constant<arma::uword, 32>());
    case 64:
      return f(std::integral_constant<arma::uword, 64>());
    case 128:
      return f(std::integral_constant<arma::uword, 128>());
    default:
      return f(d);
  }
}

// For one token; inline, so that loops over short heads need no call ------------------------------

template <class T>
T sum_of(const T* u, arma::uword size) {
  T total = 0;
#pragma omp simd reduction(+ : total)
  for (arma::uword i = 0; i < size; ++i) total += u[i];
  return total;
}

template <class T>
T product_of(const T* u, const T* v, arma::uword size) {
  T total = 0;
#pragma omp simd reduction(+ : total)
  for (arma::uword i = 0; i < size; ++i) total += u[i] * v[i];
  return total;
}

/// u becomes a = u / s, in place, s^2 = mean(u^2) + epsilon; 1 / s is returned.
template <class T>
T rms_normalize(T* u, arma::uword size, T epsilon) {
  const T inverse = 1 / std::sqrt(product_of(u, u, size) / static_cast<T>(size) + epsilon);
  for (arma::uword i = 0; i < size; ++i) u[i] *= inverse;
  return inverse;
}

/// u -> a = (u - c) / s, c = 0 or, with `centered`, mean(u); 1 / s is returned.
template <class Size, class T>
[[gnu::always_inline]] inline T normalize(bool centered, const T* u, Size size, T epsilon, T* a) {
  const T center = centered ? sum_of(u, size) / static_cast<T>(size) : T(0);
#pragma omp simd
  for (arma::uword i = 0; i < size; ++i) a[i] = u[i] - center;
  return rms_normalize(a, size, epsilon);
}

/// From the gradient g in a: that in u, added to `out`.
template <class Size, class T>
[[gnu::always_inline]] inline void normalize_backward(bool centered, const T* a, T inverse,
                                                      const T* g, Size size, T* out) {
  const T mean = centered ? sum_of(g, size) / static_cast<T>(size) : T(0),
          along = product_of(a, g, size) / static_cast<T>(size);
#pragma omp simd
  for (arma::uword i = 0; i < size; ++i) out[i] += (g[i] - mean - a[i] * along) * inverse;
}

/// The gradient in a becomes that in u, in place.
template <class T>
void rms_normalize_backward(const T* a, T inverse, arma::uword size, T* gradient) {
  const T along = product_of(a, gradient, size) / static_cast<T>(size);
#pragma omp simd
  for (arma::uword i = 0; i < size; ++i) gradient[i] = (gradient[i] - a[i] * along) * inverse;
}

}  // namespace ranklab
