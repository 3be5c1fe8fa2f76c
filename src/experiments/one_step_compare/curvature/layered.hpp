// The layered model of [Spectral] Section 4.1 for a multilayer perceptron, its derivatives along a
// direction, and the constants of the bounds.
//
// Legend: L layers; A_0 (d, n) is the input, samples in columns; X_l = W_l A_(l-1), A_l =
// sigma(X_l) for l < L; the loss f is a function of X_L (C, n) alone. Along W + t D:
//   B_l = D_l A_(l-1)
//   U_l = B_l + W_l V_(l-1)                        dX_l / dt at t = 0
//   V_l = sigma'(X_l) o U_l                        dA_l / dt
//   U~_l = 2 D_l V_(l-1) + W_l V~_(l-1)            d^2 X_l / dt^2
//   V~_l = sigma''(X_l) o U_l^2 + sigma'(X_l) o U~_l
#pragma once

#include <armadillo>
#include <string>
#include <vector>

#include "models/activations.hpp"

namespace ranklab::curvature {

using Blocks = std::vector<arma::mat>;  // one matrix per layer, in the shapes of W_1 ... W_L

/// Names of the activations with a second derivative.
const std::vector<std::string>& smooth_activations();
/// sigma''. Throws std::logic_error for a name that is not in smooth_activations().
double (*second_derivative(const std::string& activation))(double);

enum class Loss {
  squares,       // f = ||X_L - Y||_F^2 / (2 n)
  cross_entropy  // f = mean over samples of log sum exp(x) - y'x, where y is a unit vector
};

struct Network {
  const Activation* sigma = nullptr;
  double (*second)(double) = nullptr;  // sigma''
  Loss loss = Loss::cross_entropy;
  Blocks W;
};

/// Values at W, and the gradient.
struct Pass {
  std::vector<arma::mat> A;  // A_0 ... A_(L-1)
  std::vector<arma::mat> X;  // X_1 ... X_L
  arma::mat P;               // cross-entropy: probabilities (C, n)
  arma::mat df;              // gradient of f in X_L (C, n)
  double loss = 0;
  Blocks G;  // gradients in W_1 ... W_L
};
/// A_0 (d, n), Y (C, n).
Pass pass_of(const Network& network, const arma::mat& A_0, const arma::mat& Y);

/// The notation of Section 4.2 at W, and the constants (4.5).
struct Constants {
  double J_phi = 0, H_phi = 0;  // largest |sigma'|, |sigma''| over all entries of hidden layers
  double J_f = 0, H_f = 0;      // ||grad f||_F; largest curvature of f
  double W_star = 0;            // largest operator norm
  double Gamma = 0, Theta = 0;
  double C_F = 0, C_op = 0;
};
Constants constants_of(const Network& network, const Pass& pass);

/// Derivatives along D.
struct Along {
  double B = 0;        // ||B||_F^2, the sum over layers
  double op = 0;       // sum of ||D_l||_op^2
  double U = 0;        // ||U||_F over all layers
  double U_tilde = 0;  // ||U~||_F over all layers
  double slope = 0;    // <G, D>
  // <D, Hessian D> = D^2 f[U_L, U_L] + <grad f, U~_L>, and its first term alone.
  double curvature = 0, gauss_newton = 0;
};
Along along(const Network& network, const Pass& pass, const Blocks& D);

/// The right side of (4.4).
inline double bound(const Constants& constants, const Along& along) {
  return constants.C_F * along.B + constants.C_op * along.op;
}

}  // namespace ranklab::curvature
