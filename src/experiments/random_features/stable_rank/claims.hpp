// Verdicts of the study stable-rank, from the trials' records and from quadrature.
#pragma once

#include <string>
#include <vector>

#include "experiments/random_features/stable_rank/config.hpp"
#include "models/activations.hpp"
#include "report/result.hpp"
#include "run/trials.hpp"

namespace ranklab {

/// How GELU's s_* is read from its definition: as the smallest variance (as printed) or the smallest deviation.
enum class SStar { variance, deviation };

/// Figure 12, inequality (2.9): alpha f <= (E sigma)^2 and E sigma^2 <= beta f. Each listed variance in turn is that of the
/// row of W that sets s_*, and every listed variance from there up is a row of W.
Claim moment_claim(const std::string& id, const Activation& activation, const PrintedMoments& printed, SStar reading,
                   const std::vector<double>& variances);

/// Figure 12, last column: NSR(z) <= beta / alpha, for W with equal rows of each listed variance, and for W with one row of
/// each listed variance from there up.
Claim nsr_claim(const std::string& id, const Activation& activation, const PrintedMoments& printed, SStar reading,
                const std::vector<double>& variances);

/// All claims about Figure 12 of the configured activations.
std::vector<Claim> table_claims(const StableRankConfig& config);

/// Theorems 2.6 and 2.7 of the configured activations that they cover (relu, abs, leaky-relu).
std::vector<Claim> one_layer_claims(const StableRankConfig& config, const std::vector<TrialRecord>& records);
std::vector<Claim> random_layer_claims(const StableRankConfig& config, const std::vector<TrialRecord>& records);

/// [Spectral] eq. (2.12), the bound on st(A_l) with quadratic activations as printed, 27 * 3^(2^(l+2)) / (2c); infinite
/// where it overflows.
double quadratic_bound(std::uint64_t layer, double c);

/// The number of samples from which Theorem 2.8 promises it, 9 * 3^(2^(l+1)) log(1/(2c)) / 32.
double quadratic_samples(std::uint64_t layer, double c);

/// Theorem 2.8, one claim for each layer.
std::vector<Claim> quadratic_claims(const StableRankConfig& config, const std::vector<TrialRecord>& records);

/// Eq. (2.15), its remark about Zipf's law, and Lemma 2.9.
std::vector<Claim> token_claims(const StableRankConfig& config, const std::vector<TrialRecord>& records);

}  // namespace ranklab
