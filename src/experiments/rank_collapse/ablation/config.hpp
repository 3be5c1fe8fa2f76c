// `rank-collapse --study ablation`: gate against norm (mamba2; [LambdaSkip] Figure 3), or skip against norm (every other model;
// Figure 4): the four combinations from the same weights and input.
#pragma once

#include <memory>

#include "experiments/study.hpp"
#include "models/blocks/model_spec.hpp"

namespace ranklab {

struct AblationConfig {
  ModelSpec model = {.model = "mamba2"};
  double lambda = 1.0;     // the skip where it is on
  double threshold = 0.1;  // a normalised mu below it counts as collapsed
};

std::unique_ptr<Study> make_ablation_study();

}  // namespace ranklab
