// One trial of the study features: draws V (and V-bar, W-bar), samples features, and measures them beside the formulas.
#pragma once

#include <armadillo>
#include <vector>

#include "experiments/spike_plus_bulk/features/config.hpp"
#include "experiments/spike_plus_bulk/features/samples.hpp"
#include "experiments/study.hpp"
#include "models/activations.hpp"
#include "run/trials.hpp"

namespace ranklab {

/// Names of the numbers that a trial records for every size, each behind the size's prefix.
const std::vector<const char*>& feature_metrics(LabelModel model);

/// Records feature_metrics for every size. Of the realizable model also phi_monte_carlo and phi_standard_error over phi_grid; of
/// the teacher cross_singular_values and cross_bulk_singular_values of every size, descending.
TrialRecord features_trial(const FeaturesConfig& config, bool single_precision, Trial& trial);

Estimate features_estimate(const FeaturesConfig& config);

// Parts of a trial ----------------------------------------------------------------------------------------------------

/// A k x d matrix of N(0, 1/d) entries from the stream `name` of this size.
arma::mat draw_weights(const Trial& trial, const FeatureSize& size, const char* name, std::uint64_t columns);

/// The Gram matrix of one feature map: spike, bulk, Sigma and its expansion (3.6), T_eta of Lemma 3.5.
void measure_gram(const FeatureSize& size, const Activation& activation, double offset, const arma::mat& V,
                  const FeatureSamples& samples, const Trial& trial, TrialRecord& record);

/// The cross-Gram matrix of two: Theorem 3.7's expansion, Corollary 3.8, Theorem 3.9 and (3.21), (3.22).
void measure_cross_gram(const FeatureSize& size, const Activation& activation, double offset, const arma::mat& V,
                        const arma::mat& V_bar, const FeatureSamples& samples, const Trial& trial, TrialRecord& record);

/// Expansion (3.6): Sigma = V V'/4 + Lambda^-1 (V V')^(o 2) Lambda^-1 / (4 pi) + (pi - 3) Lambda^2 / (4 pi) + remainder.
struct CovarianceExpansion {
  arma::mat remainder;      // Lambda E Lambda / (2 pi), with E the error of K's expansion
  double as_printed = 0.0;  // ||Sigma - the terms as printed, E/(2 pi) among them||_F / ||E/(2 pi)||_F
  double corrected = 0.0;   // the same with Lambda E Lambda in place of E
  double rounding = 0.0;    // what rounding may leave of either
};
CovarianceExpansion expand_covariance(const arma::mat& V, const arma::mat& Sigma);

/// ||a b' - c d'||_op in closed form, of vectors.
double rank_two_norm(const arma::vec& a, const arma::vec& b, const arma::vec& c, const arma::vec& d);

}  // namespace ranklab
