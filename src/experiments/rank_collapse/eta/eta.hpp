// Internal header of the study eta: eta = E[xi_1]/E[xi_2] - xi_1/xi_2 ([Shallow] eq. (14)) over
// samples of W, for both possible readings of Figure 8.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/record.hpp"
#include "core/tolerances.hpp"
#include "experiments/rank_collapse/eta/config.hpp"
#include "report/claims.hpp"
#include "run/trials.hpp"

namespace ranklab::eta {

/// Allowed violation of inequalities between numbers of order 1.
inline constexpr double rounding = tolerance::residual<double>;

/// The quantities of the run that follow from the config.
struct Plan {
  explicit Plan(const EtaConfig& config);

  std::uint64_t tokens;
  double alpha;
  std::vector<std::uint64_t> dim;  // ascending
  std::vector<double> t;           // ascending
};

// What a trial records ----------------------------------------------------------------------------

/// The name of one of the arrays below for one d: "d=10." + quantity. The arrays are over t.
std::string at_dim(std::uint64_t dim, const std::string& quantity);

inline constexpr char eta_by_expectation[] = "eta";    // with E[xi_i] from eq. (9)
inline constexpr const char* xi[] = {"xi_1", "xi_2"};  // for the W of the trial
// The same in every trial; `deviation` is the standard deviation of xi.
inline constexpr const char* expected_xi[] = {"expected_xi_1", "expected_xi_2"};
inline constexpr const char* deviation[] = {"deviation_1", "deviation_2"};
inline constexpr const char* mu_squared[] = {"mu_1_squared", "mu_2_squared"};

// Counted at every d and t. Eq. (11) and the bound on gamma are about fixed matrices and are the
// same in every trial; Lemma A.1 is about the sample.
inline const Inequality eq_11 =
    Place{"shallow/lemma-2.4", "shallow/", "Lemma 2.4, eq. (11)"}.counted(
        "eq-11", "mu_1^2 >= (1 - omega)^2 and mu_2^2 <= delta^2");
inline const Inequality lemma_A_1 =
    Place{"shallow/lemma-A.1", "shallow/", "Lemma A.1, eq. (23)"}.counted(
        "lemma-A.1", "|eta| >= s implies max |xi_i - E[xi_i]| >= gamma s for s in [0, 1]");
inline const Inequality gamma_bound =
    Place{"shallow/lemma-A.1", "shallow/", "Lemma A.1, eq. (24)"}.counted(
        "lemma-A.1/gamma", "gamma >= 1/4 for alpha = 1 and mu_1 <= 1");

/// Every d and t has its own W in each trial. P X, which W multiplies, is the same in every trial.
Work work_of(const Plan& plan);

// From the records to the result ------------------------------------------------------------------

enum class Reading {
  expectation,   // E is the expectation from eq. (9)
  sample_means,  // E is the mean over the run's samples, a reading of the paper's "(sample mean)"
};

/// The recorded number of each trial.
std::vector<double> over_trials(const Records& records, std::uint64_t d, const char* quantity,
                                std::size_t t_index);

/// One value for each sample. Their mean is the average of eta over the samples. All samples share
/// the sample means, so in that reading the values are jackknife pseudo-values, whose spread gives
/// the error of the mean. They are undefined for fewer than fewest_samples samples.
std::vector<double> eta_values(const Records& records, Reading reading, std::uint64_t d,
                               std::size_t t_index);

/// The smallest number of samples for which the error of a sample mean is estimated.
inline constexpr std::size_t fewest_samples = 10;

/// mean(x)/mean(y) - mean(x/y) as a mean of jackknife pseudo-values, shifted so that their mean is
/// that number.
std::vector<double> ratio_gap_pseudo_values(const std::vector<double>& x,
                                            const std::vector<double>& y);

void judge(const Plan& plan, const Records& records, Claims& claims);

}  // namespace ranklab::eta
