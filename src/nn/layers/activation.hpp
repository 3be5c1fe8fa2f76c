// Activations of feed-forward nets, with their slopes for the backward pass.
#pragma once

#include <armadillo>

#include "models/activations.hpp"

namespace ranklab {

/// S = sigma(Z), or sigma(Z) o M for a gated activation with the pre-activation M of the gate; M is
/// null if there is no gate. For the backward pass, Z becomes the factor of dS in dZ, which is
/// sigma'(Z) [o M], and M becomes that in dM, sigma(Z). All have the same shape.
template <class T>
void activate(const Activation& sigma, arma::Mat<T>& Z, arma::Mat<T>* M, arma::Mat<T>& S);

}  // namespace ranklab
