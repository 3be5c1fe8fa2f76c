// Moments of sigma(g) for a centered Gaussian g, by quadrature.
#pragma once

#include <functional>

#include "ensembles/activations.hpp"

namespace ranklab {

/// E h(g), g ~ N(0, standard_deviation^2). The relative accuracy is about 1e-13 for deviations from
/// 1e-4 to 1e4 if h has one sign, is smooth on both sides of 0, grows at most polynomially and
/// varies on the scale of 1 (or has no scale).
double gaussian_expectation(const std::function<double(double)>& h, double standard_deviation);

struct GaussianMoments {
  double mean = 0.0;    // E sigma(g)
  double second = 0.0;  // E sigma(g)^2

  /// E sigma^2 / (E sigma)^2, the noise-to-signal ratio of [Spectral] Section 2.1 for equal rows;
  /// NaN if the mean is 0.
  double noise_to_signal() const;
};

/// Moments of a post-activation whose pre-activation has the given variance. For a gated activation
/// the second pre-activation is independent of the first and has the same variance.
GaussianMoments gaussian_moments(const Activation& activation, double variance);

}  // namespace ranklab
