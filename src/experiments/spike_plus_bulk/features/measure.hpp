// The mathematics of the study features: sampled features, their Gram and cross-Gram matrices, and
// the quantities that are compared with the formulas of [Spectral] Section 3.
#pragma once

#include <armadillo>
#include <array>

#include "experiments/spike_plus_bulk/features/features.hpp"
#include "models/activations.hpp"
#include "run/trials.hpp"

namespace ranklab::features {

// Samples (trial.cpp) -----------------------------------------------------------------------------

/// Sums over n samples of a pair of feature vectors (a_bar, a), which may be identical.
struct PairSums {
  double n = 0.0;
  arma::vec left, right;  // sums of a_bar (kbar) and of a (k)
  arma::mat product;      // sum of a_bar a' (kbar, k)

  PairSums& operator+=(const PairSums& other);
  arma::vec left_mean() const { return left / n; }
  arma::vec right_mean() const { return right / n; }
  /// B-bar = sum a_bar a' / n.
  arma::mat gram() const { return product / n; }
  /// gram() minus the product of the means: Sigma-bar of [Spectral] Theorem 3.4.
  arma::mat centered_gram() const { return gram() - left_mean() * right_mean().t(); }
  /// The unbiased covariance, n/(n - 1) times centered_gram().
  arma::mat covariance() const { return n / (n - 1.0) * centered_gram(); }
};

/// The two halves of the samples, kept apart so that products of independent estimates are
/// unbiased.
struct FeatureSamples {
  std::array<PairSums, 2> student;  // (a, a)
  std::array<PairSums, 2> cross;    // (a_bar, a); empty without a V-bar

  static PairSums total(const std::array<PairSums, 2>& halves);
};

/// <C_1 - C, C_2 - C>_F / ||C||_F^2 over the covariances of the two halves. Its expectation is the
/// relative squared error of C, which is 0 for the true covariance, for any number of samples.
double unbiased_squared_error(const std::array<PairSums, 2>& halves, const arma::mat& C);

/// ||v_i|| of the rows v_i of V.
arma::vec row_norms(const arma::mat& V);

/// Draws X from the stream "X/k=<k>" in blocks of columns and applies sigma(V X), and sigma(V_bar
/// X) unless V_bar is empty.
FeatureSamples sample_features(const Trial& trial, const Size& size, const Activation& activation,
                               const arma::mat& V, const arma::mat& V_bar);

/// A k x columns matrix of N(0, 1/d) entries from the stream `name` of this size.
arma::mat draw_weights(const Trial& trial, const Size& size, const char* name,
                       std::uint64_t columns);

// Measurements ------------------------------------------------------------------------------------

/// The Gram matrix of one feature map (gram.cpp): spike, bulk, Sigma and its expansion (3.6), T_eta
/// of Lemma 3.5.
void measure_gram(const Plan& plan, const Size& size, const arma::mat& V,
                  const FeatureSamples& samples, const Trial& trial, TrialRecord& record);

/// The cross-Gram matrix of two feature maps (cross_gram.cpp): Theorem 3.7's expansion, Corollary
/// 3.8, Theorem 3.9 and (3.21), (3.22).
void measure_cross_gram(const Plan& plan, const Size& size, const arma::mat& V,
                        const arma::mat& V_bar, const FeatureSamples& samples, const Trial& trial,
                        TrialRecord& record);

/// The quantities in the proofs of Theorem 3.7 and Corollary 3.8 (proof.cpp), for relu.
void measure_proof(const Size& size, const arma::mat& V, const arma::mat& V_bar,
                   const FeatureSamples& samples, const Trial& trial, TrialRecord& record);
/// Theorem 3.7 with many more features than input dimensions (proof.cpp): both errors at a wide
/// size, for relu.
void measure_wide(const Size& size, const Trial& trial, TrialRecord& record);
/// The proof of Theorem 3.9 (step.cpp), with the step 1/(offset + ||B||).
void measure_step(const Size& size, double offset, const FeatureSamples& samples,
                  const Trial& trial, TrialRecord& record);
/// (1.9) and the time of gradient descent (time.cpp).
void measure_times(const Size& size, double offset, const FeatureSamples& samples,
                   const Trial& trial, TrialRecord& record);
/// Both sides of [Spectral] Lemma 3.1 for square Q and P: n = ||Q o P||_op, n over max |Q_ij|
/// ||P||_F, and n over max Q_ii ||P||_op.
struct HadamardQuotients {
  double norm, frobenius, diagonal;
};
HadamardQuotients hadamard_quotients(const arma::mat& Q, const arma::mat& P);
/// Counts the cases of Lemma 3.1 over random matrices (hadamard.cpp).
void count_hadamard(const Trial& trial, TrialRecord& record);

/// sum_i g_i (1 - lambda_i / max lambda)^(2t), where max lambda is the last entry.
double remaining_error(const arma::vec& lambda, const arma::vec& g, double t);
/// The first step t = 0, 1, ... at which remaining_error is at most `error`; NaN if it is larger up
/// to step 1e9. lambda and g (k) are not negative, lambda is ascending.
double descent_time(const arma::vec& lambda, const arma::vec& g, double error);

/// Expansion (3.6): Sigma = V V'/4 + Lambda^-1 (V V')^(o 2) Lambda^-1 / (4 pi) + (pi - 3) Lambda^2
/// / (4 pi) + remainder.
struct CovarianceExpansion {
  arma::mat remainder;  // Lambda E Lambda / (2 pi), with E the error of K's expansion
  double as_printed =
      0.0;  // ||Sigma - the terms as printed, E/(2 pi) among them||_F / ||E/(2 pi)||_F
  double corrected = 0.0;  // the same with Lambda E Lambda in place of E
  double rounding = 0.0;   // largest value of either that rounding explains
};
CovarianceExpansion expand_covariance(const arma::mat& V, const arma::mat& Sigma);

/// ||a b' - c d'||_op of vectors, in closed form.
double rank_two_norm(const arma::vec& a, const arma::vec& b, const arma::vec& c,
                     const arma::vec& d);

// Lemma 3.3 by tail probabilities (claims.cpp) ----------------------------------------------------

/// A lower bound on the probability that (3.7) fails for independent N(0, 1/d) rows with log k =
/// ratio d, from the upper tail of the squared norms alone. Returned as the logarithm of its ratio
/// to the 4/k that Lemma 3.3 allows.
double log_lemma_3_3_lower(double d, double ratio);
/// An upper bound on the same probability, from both tails of the norms and from the cosines; same
/// units.
double log_lemma_3_3_upper(double d, double ratio);

}  // namespace ranklab::features
