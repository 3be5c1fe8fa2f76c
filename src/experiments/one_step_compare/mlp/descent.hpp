// One optimizer on one net, with the ranks along its way.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "experiments/one_step_compare/mlp/methods.hpp"
#include "models/mlp.hpp"
#include "run/trials.hpp"

namespace ranklab::mlp {

/// What a trial's optimizers share.
template <class T>
struct Problem {
  arma::Mat<T> X;            // (d, n), entries N(0, 1)
  arma::Row<T> y;            // (1, n), x_1 x_2 x_3
  Mlp<T> start;              // W_1 ... W_4 before the first step
  double stable_rank_X = 0;  // st(X)
};

template <class T>
Problem<T> draw_problem(const MlpConfig& config, const Trial& trial);

/// A trajectory; entry t of `loss` belongs to the weights before step t + 1, the ranks to recorded_iterations(config). What
/// comes after a divergence is undefined, NaN.
struct Trajectory {
  std::vector<double> loss;
  std::array<std::vector<double>, hidden_layers> stable_rank;   // of A_1 ... A_3
  std::array<std::vector<double>, hidden_layers> nuclear_rank;  // of the gradients of W_1 ... W_3
  std::optional<std::uint64_t> diverged_at;                     // first iteration with a loss that is no longer one
};

/// A loss beyond this multiple of its start counts as divergence, as does one that is not finite. Losses that passed ten times
/// their start were never seen to come back: they square, or worse, from step to step.
inline constexpr double divergence_factor = 1000.0;

/// Runs `method` from the problem's start. Layer by layer, with A = A_(l-1) and G = dLoss/dW_l ([Spectral] Section 1.2):
///   Euclidean  W <- W - lr G / L_F,                L_F = ||A||_op^2 / n,
///   spectral   W <- W - lr ||G||_* / L_op polar(G), L_op = ||A||_F^2 / n,
/// or Muon's step; all four from the same gradient. `pass` holds the last pass afterwards, that of iteration config.steps where
/// the trajectory did not diverge.
template <class T>
Trajectory descend(const MlpConfig& config, const Method& method, const Problem<T>& problem, const Trial& trial, MlpPass<T>& pass);

}  // namespace ranklab::mlp
