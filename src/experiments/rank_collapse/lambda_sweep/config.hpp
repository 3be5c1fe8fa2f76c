// `rank-collapse --study lambda-sweep`: the last layer against the strength of the skip ([LambdaSkip] Figure 2), and the smallest
// strength that keeps the tokens apart through all layers, beside the one that Theorem 4.1 asks for.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "experiments/study.hpp"
#include "models/blocks/model_spec.hpp"

namespace ranklab {

struct LambdaSweepConfig {
  ModelSpec model;
  std::vector<double> lambda = {-5, -4, -3, -2.5, -2, -1.5, -1, -0.75, -0.5, -0.25, 0, 0.25, 0.5, 0.75, 1, 1.5, 2, 2.5, 3, 4, 5};
  std::vector<std::string> also;  // further models, NAME[+VALUE][:LAYERS[xDIM]], otherwise of the same K, N and d
  double threshold = 0.1;         // to be kept by mu_normalized and by rank_one_residual, at every layer
  std::uint64_t refine = 9;       // further strengths between the largest that fails and the smallest that keeps, for each sign
};

std::unique_ptr<Study> make_lambda_sweep_study();

}  // namespace ranklab
