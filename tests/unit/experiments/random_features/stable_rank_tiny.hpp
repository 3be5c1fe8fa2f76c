// A configuration of the stable-rank study that runs in milliseconds.
#pragma once

#include "experiments/random_features/stable_rank.hpp"

inline ranklab::stable_ranks::Config tiny() {
  ranklab::stable_ranks::Config config;
  config.k = 24;
  config.d = 16;
  config.n = 60;
  config.depth = 3;
  config.vocabulary = 100;
  config.tokens = 200;
  return config;
}

/// What the first trial records.
inline ranklab::TrialRecord measure(const ranklab::stable_ranks::Config& config) {
  ranklab::Trial trial(11, 0, 0);
  return config.work().trial(trial);
}
