// Verdicts of the multi-spike study, and the fits over d that they rest on.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "experiments/spike_plus_bulk/multi_spike/settings.hpp"
#include "report/result.hpp"
#include "run/trials.hpp"

namespace ranklab {

/// What the claims are judged from.
struct MultiSpikeRun {
  const MultiSpikeConfig& config;
  LabelModel model;
  const std::vector<TrialRecord>& records;
};

/// A prediction, up to a constant, as a function of d.
using SizeScale = std::function<double(double)>;

/// Per trial, the exponent of quantity / scale as a power of d; NaN where fewer than three sizes have a positive quantity.
/// `names` is a family's or a pair's; `standard_error`, if given, becomes the mean standard error of the fits.
std::vector<double> exponents_over_d(const MultiSpikeRun& run, const std::string& names, const std::string& quantity,
                                     const SizeScale& scale, double* standard_error = nullptr);

/// Per trial, b of burn_in / d^(u-l) = a + b log d; NaN where fewer than three sizes reach the level. A burn-in that crosses it
/// within the first iteration counts as one iteration, as none ends earlier.
std::vector<double> burn_in_slopes(const MultiSpikeRun& run, const SpikeFamily& family);

/// Claims on one family: the window, the burn-in, (3.11) or Theorem 3.11, Remark 1 or 2.
std::vector<Claim> window_claims(const MultiSpikeRun& run, const SpikeFamily& family);
/// Claims on one pair's matrices: Assumption F, or Assumption H and the proof of Theorem 3.11.
std::vector<Claim> matrix_claims(const MultiSpikeRun& run, const SpikePair& pair);

/// How far an exponent may be from the predicted one: 1 / log d, averaged over the sizes. A factor log d moves it by that much, so
/// that sizes within a factor of a few cannot tell one order from the next by a logarithm.
double exponent_tolerance(const MultiSpikeConfig& config);

/// "spectral/thm-3.6" and "l=0.6,c=2," make "spectral/thm-3.6/l=0.6,c=2".
std::string claim_id(const std::string& base, const std::string& names);

/// The claim of an exponent in [low, high]; not-applicable with fewer than three sizes.
Claim judge_exponent(const MultiSpikeRun& run, const std::string& id, const std::string& source, const std::string& statement,
                     const std::vector<double>& exponents, double low, double high, const std::string& detail);

}  // namespace ranklab
