// Sampled features: sums over Gaussian inputs from which means, covariances and Gram matrices follow.
#pragma once

#include <armadillo>
#include <array>

#include "experiments/spike_plus_bulk/features/config.hpp"
#include "models/activations.hpp"
#include "run/trials.hpp"

namespace ranklab {

/// Sums over n samples of a pair of feature vectors (a_bar, a), which may be one and the same.
struct PairSums {
  double n = 0.0;
  arma::vec left, right;  // sums of a_bar (kbar) and of a (k)
  arma::mat product;      // sum of a_bar a' (kbar, k)

  PairSums& operator+=(const PairSums& other);
  arma::vec left_mean() const { return left / n; }
  arma::vec right_mean() const { return right / n; }
  /// B-bar = sum a_bar a' / n.
  arma::mat gram() const { return product / n; }
  /// gram() less the product of the means, [Spectral] Theorem 3.4's Sigma-bar.
  arma::mat centred_gram() const { return gram() - left_mean() * right_mean().t(); }
  /// The unbiased covariance, n/(n - 1) times centred_gram().
  arma::mat covariance() const { return n / (n - 1.0) * centred_gram(); }
};

/// Both halves of the samples apart, so that products of independent estimates are unbiased.
struct FeatureSamples {
  std::array<PairSums, 2> student;  // (a, a)
  std::array<PairSums, 2> cross;    // (a_bar, a); empty without a V-bar

  static PairSums total(const std::array<PairSums, 2>& halves);
};

/// Draws X from the stream "X/k=<k>" in blocks of columns and applies sigma(V X), and sigma(V_bar X) unless V_bar is empty.
/// In single precision the features and the products of one block are float, sums over blocks are double.
FeatureSamples sample_features(const Trial& trial, const FeatureSize& size, const Activation& activation, const arma::mat& V,
                               const arma::mat& V_bar, bool single_precision);

/// <C_1 - C, C_2 - C>_F / ||C||_F^2 over the covariances of the two halves: its expectation is the relative squared error of
/// C itself, 0 for the true covariance, whatever the number of samples.
double unbiased_squared_error(const std::array<PairSums, 2>& halves, const arma::mat& C);

}  // namespace ranklab
