// eta = E[xi_1]/E[xi_2] - xi_1/xi_2 over the samples of W, in the two readings that [Shallow] Figure 8 allows.
#pragma once

#include <string>
#include <vector>

#include "experiments/rank_collapse/eta/config.hpp"
#include "run/trials.hpp"

namespace ranklab {

enum class EtaReading {
  expectation,   // E is the expectation, by eq. (9)
  sample_means,  // E is the mean over the run's samples, as the paper's "(sample mean)" may say
};

/// A finished run.
struct EtaRun {
  EtaRun(const EtaConfig& config_, const std::vector<TrialRecord>& records_);

  const EtaConfig& config;
  const std::vector<TrialRecord>& records;
  std::vector<std::uint64_t> dim;  // ascending
  std::vector<double> t;           // ascending

  /// One recorded number per trial.
  std::vector<double> recorded(const std::string& quantity, std::uint64_t d, std::size_t t_index) const;
};

/// Samples below which a sample mean says nothing of its own error.
inline constexpr std::size_t fewest_samples = 10;

/// One value for each sample. Their mean is the average of eta over the samples. With sample means, which all samples share,
/// the values are jackknife pseudo-values, so that their spread gives the error of that mean too; undefined below fewest_samples.
std::vector<double> eta_values(const EtaRun& run, EtaReading reading, std::uint64_t d, std::size_t t_index);

/// mean(x)/mean(y) - mean(x/y) as a mean of jackknife pseudo-values, shifted so that their mean is that number.
std::vector<double> ratio_gap_pseudo_values(const std::vector<double>& x, const std::vector<double>& y);

}  // namespace ranklab
