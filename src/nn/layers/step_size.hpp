// Steps dt of selective state-space models (Mamba, Mamba-2).
#pragma once

#include <type_traits>

#include "nn/layers/exponential.hpp"
#include "nn/layers/initial_weights.hpp"
#include "nn/layers/parameter.hpp"

namespace ranklab {

/// log(1 + e^t) = max(t, 0) + log(1 + w), w = e^-|t|, where log(1 + w) = 2 artanh(s), s = w / (2 +
/// w) <= 1/3, by its series.
template <class V>
[[gnu::always_inline]] inline Point<V> softplus(V t) {
  using T = EntryOf<V>;
  constexpr int terms = std::is_same_v<T, float> ? 6 : 15;
  const V w = exponential(-absolute(t)), s = w / (T(2) + w), inverse = T(1) / (T(1) + w);
  V series = {};
  for (int k = terms; k >= 0; --k) series = series * (s * s) + T(1) / static_cast<T>(2 * k + 1);
  return {(t > T(0) ? t : V{}) + T(2) * s * series, t > T(0) ? inverse : w * inverse};
}

/// dt <- softplus(dt + bias), with dt (c, N) and bias (c, 1), and the slopes (c, N) of softplus.
template <class T>
void compute_steps(const arma::Mat<T>& bias, arma::Mat<T>& dt, arma::Mat<T>& slopes);

/// Uniform on (low, high), then through `map`, in double: (size, 1), without weight decay.
template <class T>
Parameter<T> mapped_uniform(const InitialWeights& initial, const char* name, arma::uword size,
                            double low, double high, double (*map)(double));

/// The parameter dt_bias (size, 1), whose softplus is log-uniform on [1e-3, 1e-1] and at least
/// 1e-4, as in the authors' code.
template <class T>
Parameter<T> initial_dt_bias(const InitialWeights& initial, arma::uword size);

}  // namespace ranklab
