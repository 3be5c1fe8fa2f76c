// A configuration of the stable-rank study that runs in milliseconds.
#pragma once

#include "experiments/random_features/stable_rank.hpp"

inline ranklab::stable_ranks::Config tiny() {
  return {.k = 24, .d = 16, .n = 60, .depth = 3, .vocabulary = 100, .tokens = 200};
}

/// What the first trial records.
inline ranklab::TrialRecord measure(const ranklab::stable_ranks::Config& config) {
  ranklab::Trial trial(11, 0, 0);
  return ranklab::stable_ranks::work(config).trial(trial);
}
