// The study eta inside: eta = E[xi_1]/E[xi_2] - xi_1/xi_2 ([Shallow] eq. (14)) over samples of W, in the two readings that
// Figure 8 allows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/record.hpp"
#include "experiments/rank_collapse/eta/config.hpp"
#include "report/claims.hpp"
#include "run/trials.hpp"

namespace ranklab::eta {

/// What follows from the config, once for the run.
struct Plan {
  Plan(const EtaConfig& config, bool single_precision);

  std::uint64_t tokens;
  double alpha;
  std::vector<std::uint64_t> dim;  // ascending
  std::vector<double> t;           // ascending
  bool single_precision;
  double rounding;  // what inequalities between numbers of order 1 may be missed by
};

// What a trial records -------------------------------------------------------------------------------------------------------

/// For each d the arrays below over t, under "d=10." + quantity.
std::string at_dim(std::uint64_t dim, const std::string& quantity);

inline constexpr char eta_by_expectation[] = "eta";                               // E[xi_i] by eq. (9)
inline constexpr const char* xi[] = {"xi_1", "xi_2"};                             // of the trial's W
inline constexpr const char* expected_xi[] = {"expected_xi_1", "expected_xi_2"};  // fixed, as all that follows
inline constexpr const char* deviation[] = {"deviation_1", "deviation_2"};        // standard, of xi
inline constexpr const char* mu_squared[] = {"mu_1_squared", "mu_2_squared"};

// Counted at every d and t: eq. (11) and gamma's bound of fixed matrices, the same in every trial; Lemma A.1 of the sample.
inline const Inequality eq_11 =
    Place{"shallow/", "Lemma 2.4, eq. (11)"}.counted("eq-11", "mu_1^2 >= (1 - omega)^2 and mu_2^2 <= delta^2");
inline const Inequality lemma_A_1 = Place{"shallow/", "Lemma A.1, proof"}.counted(
    "lemma-A.1", "|eta| >= s implies max |xi_i - E[xi_i]| >= gamma s, for s in [0, 1]");
inline const Inequality gamma_bound =
    Place{"shallow/", "Lemma A.1, eq. (24)"}.counted("lemma-A.1/gamma", "gamma >= 1/4 where alpha = 1 and mu_1 is at most 1");

/// Every d and t has a W of its own; what it multiplies is the same in every trial.
Records run_trials(const Plan& plan, Runner& runner);

// From the records to the result --------------------------------------------------------------------------------------------

enum class Reading {
  expectation,   // E is the expectation, by eq. (9)
  sample_means,  // E is the mean over the run's samples, as the paper's "(sample mean)" may say
};

/// One recorded number per trial.
std::vector<double> over_trials(const Records& records, std::uint64_t d, const char* quantity, std::size_t t_index);

/// One value for each sample. Their mean is the average of eta over the samples. With sample means, which all samples share,
/// the values are jackknife pseudo-values, so that their spread gives the error of that mean too; undefined below fewest_samples.
std::vector<double> eta_values(const Records& records, Reading reading, std::uint64_t d, std::size_t t_index);

/// Samples below which a sample mean says nothing of its own error.
inline constexpr std::size_t fewest_samples = 10;

/// mean(x)/mean(y) - mean(x/y) as a mean of jackknife pseudo-values, shifted so that their mean is that number.
std::vector<double> ratio_gap_pseudo_values(const std::vector<double>& x, const std::vector<double>& y);

void judge(const Plan& plan, const Records& records, Claims& claims);

}  // namespace ranklab::eta
