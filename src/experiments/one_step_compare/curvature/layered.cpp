// The layered model of [Spectral] Section 4.1 for a multilayer perceptron: the loss, derivatives
// along a direction, and the constants of the bounds.
//
// Legend: nn/mlp.hpp, whose Z_l is the paper's X_l; the loss f is a function of the output Z_L
// (C, n) alone. Along W + t D:
//   B_l = D_l A_(l-1)
//   U_l = B_l + W_l V_(l-1)                        dZ_l / dt at t = 0
//   V_l = sigma'(Z_l) o U_l                        dA_l / dt
//   U~_l = 2 D_l V_(l-1) + W_l V~_(l-1)            d^2 Z_l / dt^2
//   V~_l = sigma''(Z_l) o U_l^2 + sigma'(Z_l) o U~_l
#include <algorithm>
#include <numbers>
#include <stdexcept>

#include "experiments/one_step_compare/curvature/curvature.hpp"
#include "linalg/spectra.hpp"

namespace ranklab::curvature {
namespace {

double tanh_second(double t) {
  const double y = std::tanh(t);
  return -2 * y * (1 - y * y);
}

// gelu'' = phi(t) (2 - t^2)
double gelu_second(double t) {
  return std::exp(-t * t / 2) / std::sqrt(2 * std::numbers::pi) * (2 - t * t);
}

double silu_second(double t) {
  const double p = 1 / (1 + std::exp(-t));
  return p * (1 - p) * (2 + t * (1 - 2 * p));
}

double identity_second(double) {
  return 0;
}

using Second = double (*)(double);
const std::vector<std::pair<std::string, Second>> smooth = {{"tanh", tanh_second},
                                                            {"gelu", gelu_second},
                                                            {"silu", silu_second},
                                                            {"identity", identity_second}};

arma::mat mapped(const arma::mat& Z, double (*f)(double)) {
  arma::mat out = Z;
  out.transform(f);
  return out;
}

/// Sets the probabilities and the sum of the losses of all samples.
void set_softmax(Pass& pass, const arma::mat& Y) {
  const arma::mat& Z = pass.output;
  pass.P = Z;
  pass.loss = 0;
  for (arma::uword j = 0; j < Z.n_cols; ++j) {
    const double largest = Z.col(j).max();
    const arma::vec p = arma::exp(Z.col(j) - largest);
    const double sum = arma::accu(p);
    pass.P.col(j) = p / sum;
    pass.loss += largest + std::log(sum) - arma::dot(Y.col(j), Z.col(j));
  }
}

/// D^2 f[U, U]
double second_of_loss(const Network& network, const Pass& pass, const arma::mat& U) {
  const double n = static_cast<double>(U.n_cols);
  if (network.loss == Loss::squares) return arma::accu(arma::square(U)) / n;
  const arma::rowvec mean = arma::sum(pass.P % U, 0);
  return (arma::accu(pass.P % arma::square(U)) - arma::dot(mean, mean)) / n;
}

/// The largest eigenvalue of the Hessian of f, which is block diagonal over samples.
double largest_curvature(const Network& network, const Pass& pass) {
  const double n = static_cast<double>(pass.output.n_cols);
  if (network.loss == Loss::squares) return 1 / n;
  double largest = 0;
  for (arma::uword j = 0; j < pass.P.n_cols; ++j) {
    const arma::vec p = pass.P.col(j);
    const arma::mat hessian = arma::diagmat(p) - p * p.t();
    largest = std::max(largest, arma::eig_sym(hessian).max());
  }
  return largest / n;
}

}  // namespace

const std::vector<std::string>& smooth_activations() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const auto& [name, second] : smooth) out.push_back(name);
    return out;
  }();
  return names;
}

double (*second_derivative(const std::string& activation))(double) {
  for (const auto& [name, second] : smooth) {
    if (name == activation) return second;
  }
  throw std::logic_error("no second derivative of " + activation);
}

Pass::Pass(const Network& network, const arma::mat& A_0, const arma::mat& Y) {
  keeps_Z = true;
  network.forward(A_0, *this);
  const double n = static_cast<double>(A_0.n_cols);
  if (network.loss == Loss::squares) {
    d_output = (output - Y) / n;
    loss = arma::accu(arma::square(output - Y)) / (2 * n);
  } else {
    set_softmax(*this, Y);
    loss /= n;
    d_output = (P - Y) / n;
  }
  network.backward(*this);
}

Constants constants_of(const Network& network, const Pass& pass) {
  const double L = static_cast<double>(network.W.size());
  Constants out;
  for (const arma::mat& Z : pass.Z) {
    for (const double z : Z) {
      out.J_phi = std::max(out.J_phi, std::fabs(network.sigma->derivative(z)));
      out.H_phi = std::max(out.H_phi, std::fabs(network.second(z)));
    }
  }
  for (const arma::mat& W : network.W) out.W_star = std::max(out.W_star, operator_norm(W));
  out.J_f = arma::norm(pass.d_output, "fro");
  out.H_f = largest_curvature(network, pass);
  const double JW = out.J_phi * out.W_star;
  out.Gamma = std::sqrt(2.0) * std::pow(1 + 2 * JW * JW, L / 2);
  out.Theta = std::pow(1 + JW, L - 1);
  const double Gamma_2 = out.Gamma * out.Gamma;
  out.C_F = Gamma_2 * out.H_f + out.J_f * out.Theta * out.W_star * out.H_phi * Gamma_2 * L +
            out.J_f * out.J_f * out.Theta * Gamma_2 * L;
  out.C_op = out.Theta * out.J_phi * out.J_phi;
  return out;
}

Along along(const Network& network, const Pass& pass, const Blocks& D) {
  Along out;
  arma::mat U, U_tilde, V, V_tilde;
  double U_squares = 0, U_tilde_squares = 0;
  for (std::size_t l = 0; l < network.W.size(); ++l) {
    const arma::mat B = D[l] * pass.input(l);
    if (l == 0) {
      U = B;
      U_tilde.zeros(arma::size(B));
    } else {
      U = B + network.W[l] * V;
      U_tilde = 2 * D[l] * V + network.W[l] * V_tilde;
    }
    const double op = operator_norm(D[l]);
    out.B += arma::accu(arma::square(B));
    out.op += op * op;
    out.slope += arma::dot(pass.G[l], D[l]);
    U_squares += arma::accu(arma::square(U));
    U_tilde_squares += arma::accu(arma::square(U_tilde));
    if (l + 1 == network.W.size()) break;
    const arma::mat slope = mapped(pass.Z[l], network.sigma->derivative);
    V = slope % U;
    V_tilde = mapped(pass.Z[l], network.second) % arma::square(U) + slope % U_tilde;
  }
  out.U = std::sqrt(U_squares);
  out.U_tilde = std::sqrt(U_tilde_squares);
  out.gauss_newton = second_of_loss(network, pass, U);
  out.curvature = out.gauss_newton + arma::dot(pass.d_output, U_tilde);
  return out;
}

}  // namespace ranklab::curvature
