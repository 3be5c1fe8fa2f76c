// `rank-collapse --study ablation`: gate against norm (mamba2; [LambdaSkip] Figure 3), or skip against norm (every other model;
// Figure 4): the four combinations from the same weights and input.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "experiments/rank_collapse/depth/run.hpp"
#include "experiments/study.hpp"
#include "models/blocks/model_row.hpp"

namespace ranklab {

struct AblationConfig {
  ModelSpec model = {.model = "mamba2"};
  double lambda = 1.0;     // the skip where it is on
  double threshold = 0.1;  // a normalised mu below it counts as collapsed

  /// What is removed beside the norm: "gating" or "skip".
  std::string part() const { return model.row().ablation == Ablation::figure_3 ? "gating" : "skip"; }
};

/// "gating=on,norm=off": the name of one combination's series.
std::string ablation_name(const std::string& part, bool part_is_on, bool norm_is_on);

/// The four combinations, a group of one curve each: both on, the part alone, the norm alone, none.
std::vector<DepthGroup> ablation_groups(const AblationConfig& config);

std::unique_ptr<Study> make_ablation_study();

}  // namespace ranklab
