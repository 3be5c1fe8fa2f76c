// Activations of feed-forward nets in training, forward and backward.
#pragma once

#include <armadillo>

#include "models/activations.hpp"

namespace ranklab {

/// S = sigma(Z), or sigma(Z) o M where the activation is gated and M is the gate's pre-activation; all of one shape.
template <class T>
void activate(const Activation& sigma, const arma::Mat<T>& Z, const arma::Mat<T>& M, arma::Mat<T>& S);

/// S = sigma(Z), and Z becomes sigma'(Z), by which the backward pass multiplies. Of activations without a gate.
template <class T>
void activate_for_slope(const Activation& sigma, arma::Mat<T>& Z, arma::Mat<T>& S);

/// dZ = sigma'(Z) o dS, or sigma'(Z) o M o dS with dM = sigma(Z) o dS. dZ may be dS itself.
template <class T>
void activate_backward(const Activation& sigma, const arma::Mat<T>& Z, const arma::Mat<T>& M, const arma::Mat<T>& dS,
                       arma::Mat<T>& dZ, arma::Mat<T>& dM);

}  // namespace ranklab
