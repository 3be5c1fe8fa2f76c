// One optimizer on one network, with the ranks at each recorded iteration. With A = A_(l-1) and G =
// dLoss/dW_l, layer by layer ([Spectral] Section 1.2):
//   Euclidean  W <- W - lr G / L_F,                 L_F = ||A||_op^2 / n,
//   spectral   W <- W - lr ||G||_* / L_op polar(G), L_op = ||A||_F^2 / n,
// or Muon's step. All four layers step at the same gradient.
#pragma once

#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "core/undefined.hpp"
#include "experiments/one_step_compare/mlp/mlp.hpp"
#include "linalg/spectra.hpp"
#include "nn/mlp.hpp"
#include "nn/optimizers/muon.hpp"
#include "nn/optimizers/steps.hpp"

namespace ranklab::mlp {

/// The data and initial weights that all methods of a trial share.
template <class T>
struct Problem {
  arma::Mat<T> X;            // (d, n), entries N(0, 1)
  arma::Row<T> y;            // (1, n), x_1 x_2 x_3
  Mlp<T> start;              // W_1 ... W_4 before the first step
  double stable_rank_X = 0;  // st(X)
};

/// Entry t of `loss` is the loss before step t + 1. The ranks have an entry for each of
/// plan.iterations. Entries after a divergence are NaN.
struct Trajectory {
  std::vector<double> loss;
  std::array<std::vector<double>, hidden_layers> stable_rank;   // of A_1 ... A_3
  std::array<std::vector<double>, hidden_layers> nuclear_rank;  // of the gradients of W_1 ... W_3
  std::optional<std::uint64_t> diverged_at;  // first iteration at which measure_loss fails
};

/// The matrix in double precision; `memory` holds the copy if one is needed.
inline const arma::mat& widened(const arma::mat& A, arma::mat&) {
  return A;
}
inline const arma::mat& widened(const arma::fmat& A, arma::mat& memory) {
  memory = arma::conv_to<arma::mat>::from(A);
  return memory;
}

/// One method, from the initial weights of the problem.
template <class T>
struct Descent {
  const Plan& plan;
  const Method& method;
  const Problem<T>& problem;
  const Trial& trial;
  MlpPass<T>&
      pass;  // after run(): the last pass, at iteration config.steps unless the trajectory diverged
  Mlp<T> net = problem.start;
  std::vector<Muon<T>> muon = std::vector<Muon<T>>(
      layers, Muon<T>(plan.config.momentum));  // only those of the inner layers are used
  Trajectory path = {};

  Trajectory run() {
    const std::uint64_t steps = plan.config.steps;
    path.loss.assign(steps + 1, undefined);
    for (std::uint64_t t = 0; t <= steps; ++t) {
      if (!measure_loss(t)) {
        path.diverged_at = t;
        break;
      }
      const bool last = t == steps;
      step(last || t % plan.config.record_every == 0, last);
      if (!last) trial.advance();
    }
    for (auto* ranks : {&path.stable_rank, &path.nuclear_rank}) {
      for (auto& of_layer : *ranks) of_layer.resize(plan.iterations.size(), undefined);
    }
    return std::move(path);
  }

  /// Computes the loss and the gradients at iteration t. Returns false if the trajectory has
  /// diverged.
  bool measure_loss(std::uint64_t t) {
    trial.check_interrupt();
    net.forward(problem.X, pass);
    trial.check_interrupt();
    net.backward(problem.X, problem.y, pass);
    if (!std::isfinite(pass.loss)) return false;
    if (pass.loss > divergence_factor * (t == 0 ? pass.loss : path.loss[0])) return false;
    for (const auto& G : pass.G) {
      if (!G.is_finite()) return false;
    }
    path.loss[t] = pass.loss;
    return true;
  }

  /// Measures the ranks if `recorded`, and takes the step unless this is the last iteration.
  void step(bool recorded, bool last) {
    trial.for_each_part(layers, [&](std::size_t l) {
      trial.check_interrupt();
      const bool inner = l > 0 && l < hidden_layers,
                 euclidean = method.inner == InnerStep::euclidean || !inner;
      const Input input = input_of(l, recorded, euclidean && !last);
      const double nuclear_norm = last ? undefined : update(l, euclidean, input);
      if (!recorded || l == hidden_layers) return;
      path.nuclear_rank[l].push_back(std::isnan(nuclear_norm) ? nuclear_rank(pass.G[l])
                                                              : rank_from(nuclear_norm, pass.G[l]));
    });
  }

  // The input A_l of layer l + 1.
  struct Input {
    double squared_norm = 0;  // ||A||_F^2
    double stable_rank = undefined;
  };

  Input input_of(std::size_t l, bool recorded, bool operator_norm_is_needed) {
    arma::mat memory;
    const arma::mat& A = widened(l == 0 ? problem.X : pass.A[l - 1], memory);
    Input input;
    input.squared_norm = arma::dot(A, A);
    if (l == 0) {
      input.stable_rank = problem.stable_rank_X;
    } else if (recorded || operator_norm_is_needed) {
      input.stable_rank = stable_rank(A);
    }
    if (recorded && l > 0) path.stable_rank[l - 1].push_back(input.stable_rank);
    return input;
  }

  /// Steps W_(l+1). Returns the nuclear norm of the gradient if the step computed it, NaN
  /// otherwise.
  double update(std::size_t l, bool euclidean, const Input& input) {
    const double n = static_cast<double>(plan.config.n);
    const arma::Mat<T>& G = pass.G[l];
    if (euclidean) {
      // ||A||_op^2 = ||A||_F^2 / st(A), so no second eigenvalue computation is needed.
      const double L_F = input.squared_norm > 0 ? input.squared_norm / input.stable_rank / n : 0.0;
      net.W[l] += static_cast<T>(method.lr) * euclidean_step(G, L_F);
      return undefined;
    }
    if (method.inner == InnerStep::muon) {
      net.W[l] += static_cast<T>(plan.config.lr_muon) * muon[l].step(G);
      return undefined;
    }
    const SpectralStep<T> spectral = spectral_step(G, input.squared_norm / n, -1.0);
    net.W[l] += static_cast<T>(method.lr) * spectral.step;
    return spectral.nuclear_norm;
  }

  static double rank_from(double nuclear_norm, const arma::Mat<T>& of) {
    arma::mat memory;
    const arma::mat& G = widened(of, memory);
    const double squares = arma::dot(G, G);
    return squares > 0 ? nuclear_norm * nuclear_norm / squares : undefined;
  }
};

}  // namespace ranklab::mlp
