// Verdicts of the study features, from the trials' records.
//
// The paper leaves most constants open: "a is of order b as d grows" is judged by the exponent of a/b in d, fitted to every
// trial over the sizes of the run, with a slack that stands for factors of lower order.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "experiments/spike_plus_bulk/features/config.hpp"
#include "report/result.hpp"
#include "run/trials.hpp"

namespace ranklab {

inline constexpr std::uint64_t smallest_measured = 64;  // features and samples from which constants are judged
inline constexpr double exponent_slack = 0.1;           // of fitted exponents
inline constexpr double coefficient_band = 0.01;        // relative, of constants measured with many samples
inline constexpr double squared_error_band = 5e-3;      // of a covariance: relative squared error

/// A finished run: what all claims are made from.
struct FeatureRun {
  FeatureRun(const FeaturesConfig& config, const std::vector<TrialRecord>& records);

  const FeaturesConfig& config;
  const std::vector<TrialRecord>& records;
  std::vector<FeatureSize> sizes;  // by d, ascending
  std::string no_rates;            // why exponents in d mean nothing in this run; empty where they do

  const FeatureSize& largest() const { return sizes.back(); }
  /// Some size has no more samples than features, so that its covariance is singular.
  bool singular() const;
  /// One number per trial.
  std::vector<double> values(const FeatureSize& size, const std::string& metric) const;
};

/// Where a claim stands and what it says.
struct ClaimText {
  std::string id, source, statement;
};

/// What is measured of one size in one trial.
using SizeMetric = std::function<double(const TrialRecord&, const FeatureSize&)>;
SizeMetric metric(const std::string& name);
/// metric(name) over a function of the size.
SizeMetric metric_over(const std::string& name, const std::function<double(const FeatureSize&)>& unit);

/// The exponent of `measured` as a power of d, one fit per trial.
std::vector<double> exponents(const FeatureRun& run, const SizeMetric& measured);

/// The exponent's mean lies in [low, high]; not applicable where run.no_rates says why, or where a fit lacks points.
Claim judge_exponent(const FeatureRun& run, const ClaimText& text, const SizeMetric& measured, double low, double high,
                     const std::string& detail);

/// `name` at the largest size is `expected`, within a relative band.
Claim judge_constant(const FeatureRun& run, const ClaimText& text, const std::string& name, double expected, double band,
                     const std::string& detail);

/// A number whose mean at the largest size lies in [low, high]; not applicable where that size is too small to measure
/// constants.
Claim judge_at_largest(const FeatureRun& run, const ClaimText& text, const std::string& name, double low, double high,
                       const std::string& detail);

/// The margin is >= 0 in every trial at every size; an undefined margin is no case.
Claim judge_everywhere(const FeatureRun& run, const ClaimText& text, const SizeMetric& margin, const std::string& detail);

/// In a run about another activation, the claims from index `from` on become not applicable.
void only_about_relu(const FeatureRun& run, std::vector<Claim>& claims, std::size_t from);

/// Smallest and largest of a metric over all trials and sizes, as text.
std::string range_text(const FeatureRun& run, const SizeMetric& measured);

/// All claims about one feature map; about phi and Figure 16; about Lemma 3.3; about two feature maps.
std::vector<Claim> gram_claims(const FeatureRun& run);
std::vector<Claim> phi_claims(const FeatureRun& run);
std::vector<Claim> incoherence_claims(const FeatureRun& run);
std::vector<Claim> cross_gram_claims(const FeatureRun& run);

/// log P(chi^2_degrees > degrees (1 + excess)), excess > 0, by the continued fraction of the incomplete gamma function.
double log_chi_squared_tail(double degrees, double excess);

/// A lower bound on the probability that (3.7) fails for independent N(0, 1/d) rows with log k = ratio d, over the 4/k that
/// Lemma 3.3 allows: that of the squared norms' upper tail alone. As a logarithm.
double log_lemma_3_3_lower(double d, double ratio);
/// An upper bound on the same, from both tails of the norms and the cosines.
double log_lemma_3_3_upper(double d, double ratio);

}  // namespace ranklab
