// The figure of the study mlp.
#pragma once

#include <vector>

#include "experiments/one_step_compare/mlp/config.hpp"
#include "report/result.hpp"
#include "run/trials.hpp"

namespace ranklab::mlp {

/// The panels that config.panels names, in its order: colours tell layers apart (methods in the losses), line styles methods.
Figure figure(const MlpConfig& config, const std::vector<TrialRecord>& records);

}  // namespace ranklab::mlp
