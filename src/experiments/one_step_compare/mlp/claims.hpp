// What [Spectral] says of the nets of Figures 1, 4 and 18, judged from the records of a run.
#pragma once

#include <vector>

#include "experiments/one_step_compare/mlp/config.hpp"
#include "report/result.hpp"
#include "run/trials.hpp"

namespace ranklab::mlp {

/// Shares of the recorded iterations at which eq. (1.8) holds for W_layer along `method`, one for each trial; NaN where none is
/// defined.
std::vector<double> condition_shares(const std::vector<TrialRecord>& records, const std::string& method, std::size_t layer);

/// log10 of `method`'s loss over GD's at the end of each trial's initial phase (see phase_end); NaN where either diverged before,
/// or where the trial has no such phase.
std::vector<double> early_log_ratios(const MlpConfig& config, const std::vector<TrialRecord>& records, const std::string& method);

/// The same at the last iteration.
std::vector<double> final_log_ratios(const std::vector<TrialRecord>& records, const std::string& method);

/// The initial phase, "when the nuclear rank of the gradient is large": the recorded iterations from the first on at which, along
/// GD, nr(G_l) >= 2 st(A_(l-1)) for l = 2 and 3. There [Spectral] Section 1.2 promises that a spectral step is the better one.
/// Returns the last of them, NaN where already the first does not qualify.
double phase_end(const MlpConfig& config, const TrialRecord& record);

/// Claims about condition (1.8), and those about the figure that the run's activation belongs to.
std::vector<Claim> claims(const MlpConfig& config, const std::vector<TrialRecord>& records);

}  // namespace ranklab::mlp
