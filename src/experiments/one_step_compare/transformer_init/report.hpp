// The result of the study transformer-init: scalars, series over blocks, figure.
#pragma once

#include "experiments/one_step_compare/transformer_init/config.hpp"
#include "report/result.hpp"
#include "run/trials.hpp"

namespace ranklab {

Result transformer_init_result(const TransformerInitConfig& config, const std::vector<TrialRecord>& records, bool single_precision);

}  // namespace ranklab
