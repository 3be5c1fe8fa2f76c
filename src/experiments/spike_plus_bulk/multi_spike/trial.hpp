// One trial of a multi-spike study: every pair of exponents, size and step.
#pragma once

#include "experiments/spike_plus_bulk/multi_spike/config.hpp"
#include "run/trials.hpp"

namespace ranklab {

/// Records, for every family and d under its name (SpikeFamily::at): burn_in, burn_in_crossing (between iterations, by linear
/// interpolation of log nr), window_end, window_length, remark_window_end, peak, peak_iteration, nuclear_rank_0, nuclear_rank_1,
/// nuclear_rank (at recorded_iterations), norms over the predicted window beside those of M-bar, and evaluations; for every pair
/// and d ("l=0.6,u=1,d=64.") the measured hypotheses and, for the teacher, the subspaces of the proof of Theorem 3.11.
/// What does not happen up to the horizon is NaN.
/// In single precision B, B-bar and G_0 are computed and rounded in that precision; what follows is a diagnostic, in double.
TrialRecord multi_spike_trial(const MultiSpikeConfig& config, LabelModel model, bool single_precision, const Trial& trial);

/// About how many singular value decompositions a family takes at one size, for the estimate of work.
double typical_evaluations(std::uint64_t horizon);

}  // namespace ranklab
