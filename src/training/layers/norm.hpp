// RMS and layer norm without gain and bias, forward and backward.
#pragma once

#include <armadillo>
#include <cmath>
#include <type_traits>

#include "models/blocks/norms.hpp"

namespace ranklab {

/// What the forward pass leaves for the backward one.
template <class T>
struct NormPass {
  arma::Mat<T> A;        // (d, N): a = (u - c) / s of each token u, with c = 0 (rms) or mean(u) (layer)
  arma::Row<T> inverse;  // (1, N): 1 / s, s^2 = mean((u - c)^2) + epsilon
};

/// `kind`, which is rms or layer, else std::logic_error.
Norm trainable(Norm kind);

/// X (d, N) -> pass.A. `kind` is trainable.
template <class T>
void normalise(Norm kind, double epsilon, const arma::Mat<T>& X, NormPass<T>& pass);

/// dX += (dA - [mean(dA)] - a mean(a o dA)) / s for each token; the mean of dA for layer alone.
template <class T>
void normalise_backward(Norm kind, const NormPass<T>& pass, const arma::Mat<T>& dA, arma::Mat<T>& dX);

/// f(d), with the usual small widths as constants: their loops need no end of their own and stay in registers.
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

// Of one token, here so that loops over short heads have them without a call. ----------------------------------------------------

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
T rms_normalise(T* u, arma::uword size, T epsilon) {
  const T inverse = 1 / std::sqrt(product_of(u, u, size) / static_cast<T>(size) + epsilon);
  for (arma::uword i = 0; i < size; ++i) u[i] *= inverse;
  return inverse;
}

/// u -> a = (u - c) / s, c = 0 or, with `centred`, mean(u); 1 / s is returned.
template <class Size, class T>
[[gnu::always_inline]] inline T normalise(bool centred, const T* u, Size size, T epsilon, T* a) {
  const T centre = centred ? sum_of(u, size) / static_cast<T>(size) : T(0);
#pragma omp simd
  for (arma::uword i = 0; i < size; ++i) a[i] = u[i] - centre;
  return rms_normalise(a, size, epsilon);
}

/// From the gradient g in a: that in u, added to `out`.
template <class Size, class T>
[[gnu::always_inline]] inline void normalise_backward(bool centred, const T* a, T inverse, const T* g, Size size, T* out) {
  const T mean = centred ? sum_of(g, size) / static_cast<T>(size) : T(0), along = product_of(a, g, size) / static_cast<T>(size);
#pragma omp simd
  for (arma::uword i = 0; i < size; ++i) out[i] += (g[i] - mean - a[i] * along) * inverse;
}

/// The gradient in a becomes that in u, in place.
template <class T>
void rms_normalise_backward(const T* a, T inverse, arma::uword size, T* gradient) {
  const T along = product_of(a, gradient, size) / static_cast<T>(size);
#pragma omp simd
  for (arma::uword i = 0; i < size; ++i) gradient[i] = (gradient[i] - a[i] * along) * inverse;
}

}  // namespace ranklab
