// `one-step-compare --study mlp-init`: stable ranks of the post-activations of the network of the
// study mlp at initialization, over the number of samples ([Spectral] Figure 17).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "experiments/study.hpp"

namespace ranklab {

struct MlpInitConfig {
  std::string activation = "swiglu";          // sigma of the series layer<l>.stable_rank
  std::vector<std::string> also = {"relu2"};  // extra activations, for contrast
  std::uint64_t d = 128;                      // input dimension
  std::uint64_t width = 0;                    // h, units of each hidden layer; 0: 4 d
  std::vector<std::uint64_t> n = {128, 256, 512, 1024, 2048, 4096, 8192};  // samples
};

std::unique_ptr<Study> make_mlp_init_study();

}  // namespace ranklab
