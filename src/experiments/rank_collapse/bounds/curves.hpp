// Curves over the layers, shared by the parts of a trial of the study bounds: names, logarithms, growth.
#pragma once

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "experiments/rank_collapse/bounds/trial.hpp"
#include "linalg/similarity.hpp"
#include "models/blocks/norms.hpp"

namespace ranklab::bounds {

template <class T>
arma::mat exact(const arma::Mat<T>& A) {
  return arma::conv_to<arma::mat>::from(A);
}

/// Natural logarithms of mu and of the Frobenius norm of 2^s Y.
template <class T>
double log_mu(const State<T>& state) {
  return std::log(token_spread(state.Y)) + state.log2_scale * std::numbers::ln2;
}
template <class T>
double log_norm(const State<T>& state) {
  return std::log(arma::norm(exact(state.Y), "fro")) + state.log2_scale * std::numbers::ln2;
}

/// phi of [LambdaSkip] Theorem 4.3: the smallest inner product of two tokens of Y (d, N), N >= 2.
double smallest_cosine(const arma::mat& Y);
/// The smallest entry of M (N, N) that a causal or full mask lets through.
double smallest_weight(const arma::mat& M, bool causal);

/// Whether the stack's curves stand for its theorem: the last sizes of the lists.
bool representative(const BoundsConfig& config, Sizes sizes);

/// "<theorem>.N=<N>,d=<d>."
std::string size_prefix(const std::string& theorem, Sizes sizes);

/// By what factor each step of log mu is longer than the one before, from the third value on: 3 for mu <- C mu^3, 1 for
/// mu <- C mu.
std::vector<double> growth_of_steps(const std::vector<double>& log_mu);

/// The same as one number: the mean growth of the later half of the steps between finite values. NaN below two steps, or where
/// their direction changes.
double mean_growth(const std::vector<double>& log_mu);

/// The values followed by NaN up to this size: the stack ended before.
std::vector<double> padded(std::vector<double> values, std::size_t size);

}  // namespace ranklab::bounds
