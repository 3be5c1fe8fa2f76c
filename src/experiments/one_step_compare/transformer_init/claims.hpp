// Verdicts of the study transformer-init.
#pragma once

#include <vector>

#include "experiments/one_step_compare/transformer_init/bounds.hpp"
#include "experiments/one_step_compare/transformer_init/config.hpp"
#include "report/result.hpp"
#include "run/trials.hpp"

namespace ranklab {

/// What a trial's record says about the input of block `b`, counted from 0.
ColumnRange input_columns(const TrialRecord& record, std::size_t b);

std::vector<Claim> transformer_init_claims(const TransformerInitConfig& config, const std::vector<TrialRecord>& records,
                                           bool single_precision);

}  // namespace ranklab
