// What became of the two tokens of the study examples at each lambda, read off the last layers of the run.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "experiments/rank_collapse/examples/systems.hpp"

namespace ranklab {

/// "lambda=-1.5." before the name of a series.
std::string lambda_prefix(double lambda);

/// A limit counts as reached within so much, at each of the last two layers (two, since mu may alternate).
inline constexpr double limit_band = 0.01;

struct ExampleOutcome {
  double lambda = 0.0;  // as the flag says it
  TwoTokenSystem system;
  double mu[2] = {0, 0};  // at the last two layers
  double rank_one_residual[2] = {0, 0};
  double degenerate_rows = 0.0;
  /// The exact form's growth of |x_k| says that the limits, whichever they are, are reached within the run. Never at
  /// lambda = -3/2 for Sys-2, where |x_k| stays as it is.
  bool settled = false;

  bool mu_tends_to(double limit) const;
  /// Row 2 tends to plus or minus row 1, within the band: 1 - sigma_1^2/||Y||_F^2 is a quarter of their squared distance.
  bool tends_to_rank_one() const;
};

/// One outcome for each lambda of the config, from the record of a trial.
std::vector<ExampleOutcome> example_outcomes(const ExamplesConfig& config, const TrialRecord& record, bool single_precision);

/// The lambdas of the outcomes that `belongs` picks, "-3, -2.5"; empty where there are none.
std::string lambdas_where(const std::vector<ExampleOutcome>& outcomes, const std::function<bool(const ExampleOutcome&)>& belongs);

}  // namespace ranklab
