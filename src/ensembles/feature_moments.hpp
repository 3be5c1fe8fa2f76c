// Mean and covariance of post-activations a = sigma(V x) of a standard Gaussian x, [Spectral]
// Section 3.1.1.
//
// Shapes: V (k, d), rows v_i; mean (k); Sigma = Cov(a) (k, k); for two feature maps, Cov(sigma(Vbar
// x), sigma(V x)) (kbar, k). Everything depends on the norms ||v_i|| and the cosines t of the
// angles between rows. Activations that are homogeneous of degree p (0 < p <= 2) have closed forms.
// The others are expanded in Hermite polynomials, which suits smooth activations.
#pragma once

#include <armadillo>
#include <vector>

#include "ensembles/activations.hpp"

namespace ranklab {

/// c_m = E sigma(s g) He_m(g) / sqrt(m!) for m = 0 ... count - 1, g ~ N(0, 1) and s = `deviation`:
/// the coefficients of sigma(s g) in the orthonormal Hermite polynomials, by quadrature.
std::vector<double> hermite_coefficients(const Activation& activation, double deviation,
                                         std::size_t count);

/// phi(t) = 2 pi Cov(sigma(g), sigma(h)) for standard Gaussians with correlation t in [-1, 1]. For
/// relu, [Spectral] Section 3.1.1 gives sqrt(1 - t^2) + (pi - arccos t) t - 1. Throws UsageError
/// for a gated activation.
double feature_phi(const Activation& activation, double t);

/// phi^(m)(0) = 2 pi m! c_m^2 for m = 0 ... count - 1, except phi(0) = 0, with c_m from
/// hermite_coefficients at deviation 1.
std::vector<double> feature_phi_derivatives(const Activation& activation, std::size_t count);

/// sum_m derivatives[m] t^m / m!.
double taylor_polynomial(const std::vector<double>& derivatives, double t);

/// E a; for relu ||v_i|| / sqrt(2 pi). Differs from [Spectral] Section 3.1.1: 1/sqrt(2 pi) instead
/// of 1/(2 pi), because E max(g, 0) = 1/sqrt(2 pi).
arma::vec feature_mean(const Activation& activation, const arma::mat& V);

/// Cov(a), symmetric; for relu ||v_i|| ||v_j|| phi(t_ij) / (2 pi).
arma::mat feature_covariance(const Activation& activation, const arma::mat& V);

/// Cov(sigma(Vbar x), sigma(V x)). Throws Failure if the rows of Vbar and V differ in length.
arma::mat feature_cross_covariance(const Activation& activation, const arma::mat& V_bar,
                                   const arma::mat& V);

}  // namespace ranklab
