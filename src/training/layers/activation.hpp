// Activations of feed-forward nets, forward and backward.
#pragma once

#include <armadillo>

#include "models/activations.hpp"

namespace ranklab {

/// S = sigma(Z), or sigma(Z) o M if the activation is gated and M is the pre-activation of the
/// gate. All have the same shape.
template <class T>
void activate(const Activation& sigma, const arma::Mat<T>& Z, const arma::Mat<T>& M,
              arma::Mat<T>& S);

/// S = sigma(Z), and Z becomes sigma'(Z), the factor of the backward pass. Only for activations
/// without a gate.
template <class T>
void activate_for_slope(const Activation& sigma, arma::Mat<T>& Z, arma::Mat<T>& S);

/// dZ = sigma'(Z) o dS; if gated, dZ = sigma'(Z) o M o dS and dM = sigma(Z) o dS. dZ may alias dS.
template <class T>
void activate_backward(const Activation& sigma, const arma::Mat<T>& Z, const arma::Mat<T>& M,
                       const arma::Mat<T>& dS, arma::Mat<T>& dZ, arma::Mat<T>& dM);

}  // namespace ranklab
