// `rank-collapse --study ablation`: removes the gate and the norm (mamba2; [LambdaSkip] Figure 3),
// or the skip and the norm (every other model; Figure 4). All four combinations have the same
// weights and input.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "experiments/study.hpp"
#include "nn/blocks/model_spec.hpp"

namespace ranklab {

struct AblationConfig {
  std::string precision = "f64";
  ModelSpec model = {.model = "mamba2"};
  std::vector<std::string> also;  // weights files of further trainings of the model
  double lambda = 1.0;            // strength of the skip if it is on
  double threshold = 0.1;         // tokens count as collapsed if normalized mu is below it

  bool single_precision() const { return precision == "f32"; }
};

std::unique_ptr<Study> make_ablation_study();

}  // namespace ranklab
