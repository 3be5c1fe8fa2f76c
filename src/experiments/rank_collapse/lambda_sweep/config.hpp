// `rank-collapse --study lambda-sweep`: the last layer against the strength of the skip
// ([LambdaSkip] Figure 2), and the smallest strength that keeps the tokens apart through all
// layers, compared with the strength that Theorem 4.1 requires.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "experiments/study.hpp"
#include "nn/blocks/model_spec.hpp"

namespace ranklab {

struct LambdaSweepConfig {
  std::string precision = "f64";
  ModelSpec model;
  std::vector<double> lambda = {-5,   -4,  -3,   -2.5, -2,  -1.5, -1,  -0.75, -0.5, -0.25, 0,
                                0.25, 0.5, 0.75, 1,    1.5, 2,    2.5, 3,     4,    5};
  // Further models, NAME[+VALUE][:LAYERS[xDIM]]. By default they have the same K, N and d.
  std::vector<std::string> also;
  // Tokens are kept apart if mu_normalized and rank_one_residual exceed this at every layer.
  double threshold = 0.1;
  // Further strengths per sign, between the largest that collapses and the smallest that does not.
  std::uint64_t refine = 9;

  bool single_precision() const { return precision == "f32"; }
};

std::unique_ptr<Study> make_lambda_sweep_study();

}  // namespace ranklab
