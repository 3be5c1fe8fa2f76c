// One trial of the study gradient-rank: what is drawn and measured at each k.
#pragma once

#include <string>

#include "experiments/spike_plus_bulk/gradient_rank/config.hpp"
#include "run/trials.hpp"

namespace ranklab {

namespace gradient_rank {
/// Name of a quantity at one k: "k64." + quantity.
std::string at_k(std::uint64_t k, const std::string& quantity);
}  // namespace gradient_rank

/// Records, for each k, the array k<k>.nuclear_rank over sampled_steps(config), and the scalars that the report names.
TrialRecord gradient_rank_trial(const GradientRankConfig& config, LabelModel model, bool single_precision, const Trial& trial);

}  // namespace ranklab
