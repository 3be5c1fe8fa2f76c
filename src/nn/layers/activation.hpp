// Activations of feed-forward nets, with their slopes for the backward pass.
#pragma once

#include <armadillo>

#include "ensembles/activations.hpp"

namespace ranklab {

/// S = sigma(Z), or sigma(Z) o M for a gated activation with the pre-activation M of the gate; M is
/// null if there is no gate. Z becomes what activate_backward needs, and M becomes the factor of dS
/// in dM, sigma(Z). All have the same shape.
template <class T>
void activate(const Activation& sigma, arma::Mat<T>& Z, arma::Mat<T>* M, arma::Mat<T>& S);

/// dS becomes dZ = sigma'(Z) [o M] o dS, with the Z that activate() left.
template <class T>
void activate_backward(const Activation& sigma, const arma::Mat<T>& Z, arma::Mat<T>& dS);

}  // namespace ranklab
