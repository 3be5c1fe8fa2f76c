// One trial of the study transformer-init.
#pragma once

#include <string>
#include <vector>

#include "experiments/one_step_compare/transformer_init/config.hpp"
#include "run/trials.hpp"

namespace ranklab {

/// The matrices of a block that are measured: X (its input), A_rms, H, X_att, A_mlp_rms, B, X_plus.
const std::vector<std::string>& block_matrices();

/// Records one entry for each block: <M>.stable_rank, <M>.frobenius_squared and <M>.operator_squared for M of block_matrices(),
/// <M>.column_low and <M>.column_high (least and greatest ||m_t||^2 / d) for M = X, X_att, X_plus. Numbers: inverse_p_max,
/// distinct_tokens, embedding.norm_deviation (largest | ||x_t||^2 / d - 1 |), A_final.stable_rank (RMSNorm of the last output).
TrialRecord transformer_init_trial(const TransformerInitConfig& config, bool single_precision, const Trial& trial);

}  // namespace ranklab
