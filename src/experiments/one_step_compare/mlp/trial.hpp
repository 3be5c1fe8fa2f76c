// One trial of the study mlp: every optimizer from the same weights, on the same samples.
#pragma once

#include "experiments/one_step_compare/mlp/config.hpp"
#include "run/trials.hpp"

namespace ranklab::mlp {

/// Records the series of each method (methods(config)), the scalars X.stable_rank, W<l>.rank and A<l>.rank at the start, and
/// <method>.diverged and <method>.diverged_at. Trial 0 writes the files of config.dump. Throws Failure where that fails.
TrialRecord run_trial(const MlpConfig& config, bool single_precision, const Trial& trial);

}  // namespace ranklab::mlp
