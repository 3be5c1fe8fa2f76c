// One trial of the study stable-rank: draws the matrices and measures their stable ranks.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "experiments/random_features/stable_rank/config.hpp"
#include "experiments/study.hpp"
#include "run/trials.hpp"

namespace ranklab {

/// The three fixed first-layer weights of Theorem 2.6, all with rows of mean square norm 1.
struct WeightKind {
  const char* claim;   // last part of a claim's id
  const char* suffix;  // of the scalar <activation>.stable_rank<suffix>
};
inline constexpr std::array<WeightKind, 3> weight_kinds = {{{"dense", ""}, {"low-rank", "_low_rank"}, {"power-law", "_power_law"}}};

/// The configured activations, and the quadratic one of Theorem 2.8 at the end where it is not among them.
std::vector<std::string> depth_activations(const StableRankConfig& config);

/// Records, with <a> an activation: <a>.depth.stable_rank (layers 1 ... depth, all activations of depth_activations),
/// <a>.stable_rank<suffix> (the configured ones), W.stable_rank<suffix>, X.stable_rank, and of the tokens
/// token_indicator.stable_rank, token_indicator.inverse_p_max, embedding.stable_rank, embedding_rms.stable_rank,
/// embedding.norm_deviation (largest | ||e_j||^2 / d - 1 |), embedding.distinct_tokens.
TrialRecord stable_rank_trial(const StableRankConfig& config, bool single_precision, Trial& trial);

Estimate stable_rank_estimate(const StableRankConfig& config);

}  // namespace ranklab
