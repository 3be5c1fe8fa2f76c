// RMS and layer norm without gain and bias, forward and backward.
#pragma once

#include <armadillo>

#include "models/blocks/norms.hpp"

namespace ranklab {

/// What the forward pass leaves for the backward one.
template <class T>
struct NormPass {
  arma::Mat<T> A;        // (d, N): a = (u - c) / s of each token u, with c = 0 (rms) or mean(u) (layer)
  arma::Row<T> inverse;  // (1, N): 1 / s, s^2 = mean((u - c)^2) + epsilon
};

/// X (d, N) -> pass.A. `kind` is rms or layer, else std::logic_error.
template <class T>
void normalise(Norm kind, double epsilon, const arma::Mat<T>& X, NormPass<T>& pass);

/// dX += (dA - [mean(dA)] - a mean(a o dA)) / s for each token; the mean of dA for layer alone.
template <class T>
void normalise_backward(Norm kind, const NormPass<T>& pass, const arma::Mat<T>& dA, arma::Mat<T>& dX);

/// The same of one token of `size` entries, in place: u becomes a, and 1 / s is returned; the gradient in a becomes that in u.
template <class T>
T rms_normalise(T* u, arma::uword size, T epsilon);
template <class T>
void rms_normalise_backward(const T* a, T inverse, arma::uword size, T* gradient);

}  // namespace ranklab
