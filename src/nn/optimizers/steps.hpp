// The two steps of [Spectral] Section 1.2, for a loss with the curvature bounds of eq. (1.4),
//   ||U A||_F^2 / n <= L_F ||U||_F^2   and   ||U A||_F^2 / n <= L_op ||U||_op^2.
#pragma once

#include <armadillo>

#include "linalg/polar.hpp"

namespace ranklab {

/// The Euclidean step -G / L_F; the zero step if L_F = 0.
template <class T>
arma::Mat<T> euclidean_step(const arma::Mat<T>& G, double L_F) {
  if (L_F == 0) return arma::Mat<T>(G.n_rows, G.n_cols, arma::fill::zeros);
  return static_cast<T>(-1 / L_F) * G;
}

template <class T>
struct SpectralStep {
  arma::Mat<T> step;        // of G's shape
  double nuclear_norm = 0;  // ||G||_*
};

/// The spectral step -(||G||_* / L_op) polar(G); the zero step if L_op = 0. `polar_rtol` as in
/// polar_factor.
template <class T>
SpectralStep<T> spectral_step(const arma::Mat<T>& G, double L_op, double polar_rtol) {
  if (L_op == 0) return {arma::Mat<T>(G.n_rows, G.n_cols, arma::fill::zeros), 0.0};
  Polar<T> polar = polar_factor(G, polar_rtol);
  polar.factor *= static_cast<T>(-polar.nuclear_norm / L_op);
  return {std::move(polar.factor), polar.nuclear_norm};
}

}  // namespace ranklab
