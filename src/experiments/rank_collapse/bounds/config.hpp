// `rank-collapse --study bounds`: checks the theorems of [LambdaSkip] about mu (Theorems 4.1 to
// 4.3, A.2, A.3, A.7, A.8, A.10), their lemmas, Remark 4.1 and the adversarial inputs of Appendix
// A.13.1 on random stacks. Every bound and every hypothesis is evaluated on the matrices of the
// run.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "experiments/study.hpp"
#include "nn/blocks/model_spec.hpp"

namespace ranklab {

struct BoundsConfig {
  BoundsConfig();

  ModelSpec spec;  // the settings that all stacks share; the lists below give models and sizes
  std::vector<std::string> models = {"attention", "linear-attention", "lti-ssm",
                                     "selective-ssm"};  // for Theorem 4.1
  std::vector<std::uint64_t> tokens = {2, 8, 32};       // N
  std::vector<std::uint64_t> dim = {4, 16};             // d
  std::vector<double> lambda = {-1e6, -1e4, -100, -10, -1,  -0.5, 0,
                                0.5,  1,    10,   100, 1e4, 1e6};  // for Theorem 4.1
  std::vector<double> a = {0.01, 0.5, 0.9, 0.99};                  // collapse rates, below 1
};

std::unique_ptr<Study> make_bounds_study();

}  // namespace ranklab
