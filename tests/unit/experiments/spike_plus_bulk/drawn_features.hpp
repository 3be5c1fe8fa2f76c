// For tests of the study features: its matrices, drawn and multiplied without blocks or halves.
#pragma once

#include <armadillo>
#include <cmath>
#include <string>

#include "run/trials.hpp"
#include "svd_by_rotations.hpp"

namespace drawn_features {

using ranklab::Trial;

constexpr std::uint64_t seed = 3;

inline arma::mat normal(const Trial& trial, const std::string& name, arma::uword rows,
                        arma::uword columns, double deviation) {
  arma::mat G(rows, columns);
  trial.stream(name).fill_normal({G.memptr(), G.n_elem}, deviation);
  return G;
}

// The matrices of size k, with d = k/2 and n = 2k.
struct Drawn {
  explicit Drawn(arma::uword k) {
    const Trial trial(seed, 0, 0);
    const std::string end = "/k=" + std::to_string(k);
    const double deviation = 1.0 / std::sqrt(static_cast<double>(k) / 2.0);
    V = normal(trial, "V" + end, k, k / 2, deviation);
    V_bar = normal(trial, "V-bar" + end, k, k / 2, deviation);
    W_bar = normal(trial, "W-bar" + end, k, k, deviation);
    const arma::mat X = normal(trial, "X" + end, k / 2, 2 * k, 1.0);
    A = arma::clamp(V * X, 0.0, arma::datum::inf);
    A_bar = arma::clamp(V_bar * X, 0.0, arma::datum::inf);
  }
  arma::mat V, V_bar, W_bar, A, A_bar;
};

inline double spectral_norm(const arma::mat& M) {
  return svd_by_rotations(M).s.front();
}

}  // namespace drawn_features
