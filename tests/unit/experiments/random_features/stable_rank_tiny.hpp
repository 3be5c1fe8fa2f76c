// A configuration of the stable-rank study that runs in milliseconds.
#pragma once

#include "experiments/random_features/stable_rank/config.hpp"

inline ranklab::StableRankConfig tiny() {
  ranklab::StableRankConfig config;
  config.k = 24;
  config.d = 16;
  config.n = 60;
  config.depth = 3;
  config.tokens = 200;
  config.vocabulary = 100;
  return config;
}
