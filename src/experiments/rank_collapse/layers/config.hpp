// `rank-collapse --study layers`: token geometry after every layer, for several strengths of the
// skip or of de-escalation ([LambdaSkip] Figure 1; [Shallow] Figures 1, 2, 4, 5).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "experiments/study.hpp"
#include "nn/blocks/model_spec.hpp"

namespace ranklab {

struct LayersConfig {
  std::string precision = "f64";
  ModelSpec model;
  // One curve for each value. Empty: the default list of the model, or 1 if tau is given.
  std::vector<double> lambda;
  std::vector<double> lambda_per_layer;  // one more curve, with a strength for each layer
  std::vector<double> tau;               // in [0, 1]; one curve for each, instead of lambda
  std::vector<double> tau_per_layer;     // one more curve, with a strength for each block
  // Further models, NAME[+VALUE][:LAYERS[xDIM]]. By default they have the same K, N and d.
  std::vector<std::string> also;
  // Encoders only: one more curve, with lambda = 1 and this dropout rate, as in training.
  double dropout = 0;
  bool gradients = false;  // encoders only: also the gradient norm of each block's weights
  double threshold = 0.1;  // mu_normalized or rank_one_residual below it counts as collapsed

  bool single_precision() const { return precision == "f32"; }
  /// If true, curves are named by tau, and each is measured before and after de-escalation.
  bool de_escalates() const { return !tau.empty() || !tau_per_layer.empty(); }
};

std::unique_ptr<Study> make_layers_study();

}  // namespace ranklab
