// The study layers inside: the curves of a run, and the way from their records to the result.
#pragma once

#include <vector>

#include "experiments/rank_collapse/depth/depth.hpp"
#include "experiments/rank_collapse/layers/config.hpp"
#include "models/blocks/model_row.hpp"

namespace ranklab::layers {

/// BERT and ALBERT, of [Shallow] Figure 1.
inline bool is_encoder(const ModelRow& row) {
  return row.figure == DepthFigure::shallow_1;
}

struct Plan {
  std::vector<DepthGroup> groups;  // --model's first; names of further models' curves begin with the model's label and a dot
  bool de_escalates, drops, gradients;
  double threshold;

  const ModelSpec& model() const { return groups.front().spec; }
};

/// What the figures say of each group's curves.
void judge(const Plan& plan, const Records& records, Claims& claims);

Result report(const Plan& plan, const Records& records);

}  // namespace ranklab::layers
