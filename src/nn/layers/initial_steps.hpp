// Initial values of the steps and decays of selective state-space models (Mamba, Mamba-2).
#pragma once

#include "nn/layers/initial_weights.hpp"
#include "nn/layers/parameter.hpp"

namespace ranklab {

/// Uniform on (low, high), then through `map`, in double: (size, 1), without weight decay.
template <class T>
Parameter<T> mapped_uniform(const InitialWeights& initial, const char* name, arma::uword size,
                            double low, double high, double (*map)(double));

/// The parameter dt_bias (size, 1), whose softplus is log-uniform on [1e-3, 1e-1] and at least
/// 1e-4, as in the authors' code.
template <class T>
Parameter<T> initial_dt_bias(const InitialWeights& initial, arma::uword size);

}  // namespace ranklab
