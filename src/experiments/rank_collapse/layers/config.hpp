// `rank-collapse --study layers`: token geometry after every layer, for several strengths of the skip or of de-escalation
// ([LambdaSkip] Figure 1; [Shallow] Figures 1, 2, 4, 5).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "experiments/study.hpp"
#include "models/blocks/model_spec.hpp"

namespace ranklab {

struct LayersConfig {
  ModelSpec model;
  std::vector<double> lambda;            // one curve for each; empty: the study's own list, or 1 beside a list of tau
  std::vector<double> lambda_per_layer;  // one more curve, with a strength for each layer
  std::vector<double> tau;               // de-escalation, one curve for each in place of lambda's; in [0, 1]
  std::vector<double> tau_per_layer;     // one more curve, with a strength for each block
  std::vector<std::string> also;         // further models, NAME[+VALUE][:LAYERS[xDIM]], otherwise of the same K, N and d
  double dropout = 0;                    // of encoders: one more curve, of the plain skip, with dropout as in training
  bool gradients = false;                // of encoders: the gradient norm of each block's weights too
  double threshold = 0.1;                // mu_normalized or rank_one_residual below it counts as collapsed

  /// Curves are named by tau, each measured before and after de-escalation.
  bool de_escalates() const { return !tau.empty() || !tau_per_layer.empty(); }
};

std::unique_ptr<Study> make_layers_study();

}  // namespace ranklab
