// The Newton-Schulz iteration of Muon: an approximate polar factor from matrix products only.
#pragma once

#include <armadillo>

namespace ranklab {

/// s -> a s + b s^3 + c s^5 on every singular value. The coefficients trade accuracy for speed:
/// near 0 they multiply by 3.44 at each step, and they do not converge to 1 but to about
/// [0.7, 1.2].
struct NewtonSchulzCoefficients {
  double a = 3.4445, b = -4.7750, c = 2.0315;
};

inline constexpr int newton_schulz_steps = 5;

/// The approximate polar factor of G (m, n): U p(p(...p(s / (||G||_F + 1e-7)))) V' with p as above.
/// A zero matrix stays zero. Source: K. Jordan et al., "Muon: an optimizer for hidden layers",
/// 2024. Differs from it: computes in T, not in bfloat16.
template <class T>
arma::Mat<T> newton_schulz(const arma::Mat<T>& G, int steps = newton_schulz_steps,
                           const NewtonSchulzCoefficients& coefficients = {});

}  // namespace ranklab
