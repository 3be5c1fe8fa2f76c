// Internal header of the study layers: the curves of a run, and the functions that turn their
// records into the result.
#pragma once

#include <vector>

#include "experiments/rank_collapse/depth/depth.hpp"
#include "experiments/rank_collapse/layers/config.hpp"
#include "nn/blocks/model_row.hpp"

namespace ranklab::layers {

/// True for BERT and ALBERT, the models of [Shallow] Figure 1.
inline bool is_encoder(const ModelRow& row) {
  return row.figure == DepthFigure::shallow_1;
}

struct Plan {
  // The first group is that of --model. The curve names of further models begin with the model's
  // label and a dot.
  std::vector<DepthGroup> groups;
  bool de_escalates, has_dropout, gradients;
  double threshold;

  const ModelSpec& model() const { return groups.front().spec; }
  /// The names of all curves.
  std::vector<std::string> curve_names() const;
};

/// Judges the statements of the papers' figures for the curves of each group.
void judge(const Plan& plan, const Records& records, Claims& claims);

Result report(const Plan& plan, const Records& records);

}  // namespace ranklab::layers
