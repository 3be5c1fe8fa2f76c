// The study examples inside: what a trial records, and the way from records to the result. Every trial makes the same numbers, so
// that the claims are judged from the first.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "experiments/rank_collapse/examples/systems.hpp"
#include "report/claims.hpp"

namespace ranklab::examples {

/// A limit counts as reached within so much, at each of the last two layers (two, since mu may alternate).
inline constexpr double limit_band = 0.01;

/// What follows from the config, once for the run.
struct Plan {
  Plan(const ExamplesConfig& config, bool single_precision);

  bool selective;  // Sys-2
  double alpha0, beta0;
  std::uint64_t layers;
  bool single_precision;
  std::vector<TwoTokenSystem> systems;  // one for each lambda

  bool starts_at_45_degrees() const { return std::abs(alpha0 - beta0) <= limit_band; }
};

// What a trial records -------------------------------------------------------------------------------------------------------

// For each lambda, under "lambda=-1.5." + quantity: arrays over layers, and rows that D set to zero.
std::string lambda_label(double lambda);                            // lambda=-1.5
std::string at_lambda(double lambda, const std::string& quantity);  // lambda=-1.5.mu
inline constexpr char mu[] = "mu", rank_one_residual[] = "rank_one_residual", mu_closed_form[] = "mu_closed_form";
// Under their own names, over all lambdas: those rows, and the largest difference of an entry from the exact form.
inline constexpr char degenerate_rows[] = "degenerate_rows", closed_form_error[] = "closed_form_error";

// Counted at every layer of every lambda for which D is defined, where a difference goes beyond rounding.
struct Forms {
  Inequality as_printed, exact;
};
Forms forms_of(bool selective);

// [LambdaSkip] Proposition 4.3.2, of Sys-2. With r = (2 + lambda)/(1 + lambda) and any lambda but -1, mu^2 =
// 1 - x_k/sqrt(1 + x_k^2) where x_k = r^k alpha_0/beta_0; for alpha_0 = beta_0 that is 1 - r^k/sqrt(1 + r^(2k)).
inline const Place prop_4_3_2 = {"lambda-skip/prop-4.3.2/", "Proposition 4.3.2, Appendix A.12"};
inline const Inequality mu_as_printed = prop_4_3_2.counted("as-printed", "mu = 1/(1 + r^(2k)) with r = (2 + lambda)/(1 + lambda)");
inline const Inequality mu_corrected = correcting(
    mu_as_printed,
    Place{prop_4_3_2.prefix, prop_4_3_2.source + ", corrected"}.counted(
        "corrected", "mu^2 = 1 - r^k alpha_0/sqrt(r^(2k) alpha_0^2 + beta_0^2); for alpha_0 = beta_0, 1 - r^k/sqrt(1 + r^(2k))"));
inline const Inequality mu_decay = prop_4_3_2.counted(
    "decay", "for lambda > -1, mu^2 decays as a^k with a = ((1 + lambda)/(2 + lambda))^2: at most a^k (beta_0/alpha_0)^2 / 2");

// What became of the two tokens ----------------------------------------------------------------------------------------------

/// At one lambda, read off the last two layers of the run.
struct Outcome {
  TwoTokenSystem system;
  double mu[2] = {0, 0};
  double rank_one_residual[2] = {0, 0};
  double degenerate_rows = 0.0;
  /// The exact form's growth of |x_k| says that the limits, whichever they are, are reached within the run. Never at
  /// lambda = -3/2 for Sys-2, where |x_k| stays as it is.
  bool settled = false;

  bool mu_tends_to(double limit) const;
  /// Row 2 tends to plus or minus row 1, within the band: 1 - sigma_1^2/||Y||_F^2 is a quarter of their squared distance.
  bool tends_to_rank_one() const;
};

/// One for each lambda.
std::vector<Outcome> outcomes_of(const Plan& plan, const TrialRecord& record);

/// The lambdas of the outcomes that `belongs` picks, "-3, -2.5"; empty where there are none.
std::string lambdas_where(const std::vector<Outcome>& outcomes, const std::function<bool(const Outcome&)>& belongs);

/// The propositions as printed, and as the exact forms correct them.
void judge(const Plan& plan, const TrialRecord& record, Claims& claims);

}  // namespace ranklab::examples
