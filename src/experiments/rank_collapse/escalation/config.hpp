// `rank-collapse --study escalation`: token similarity along post-norm Transformer blocks, and what each of a block's four
// steps does to it ([Shallow] Figure 2).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "experiments/study.hpp"
#include "models/blocks/model_spec.hpp"

namespace ranklab {

/// Also the config of the study escalation-rate.
struct EscalationConfig {
  EscalationConfig();  // [Shallow] Section 2.4: post-norm, 20 blocks, n = 64, d = 512

  ModelSpec spec;
  double lambda = 1.0;  // strength of the skip in step 1; the paper's is 1

  /// Whether the blocks are those of Algorithm 1, about which the paper's statements are.
  bool is_algorithm_1() const;
};

/// `models` are the architectures that the study can run.
std::vector<Field> escalation_fields(EscalationConfig& config, const std::vector<std::string>& models);

/// Cost of a path through all blocks.
Estimate path_estimate(const EscalationConfig& config);

std::unique_ptr<Study> make_escalation_study();

}  // namespace ranklab
