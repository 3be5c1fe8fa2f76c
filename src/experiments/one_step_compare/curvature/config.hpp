// `one-step-compare --study curvature`: the curvature of the loss of a small network along
// gradients and their polar factors, and its bound by layers, over training ([Spectral]
// Sections 4.1 to 4.4).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "experiments/study.hpp"

namespace ranklab {

struct CurvatureConfig {
  std::string model = "mlp";           // or transformer: decoder blocks on text
  std::string activation = "tanh";     // a smooth one
  std::string loss = "cross-entropy";  // or squares
  std::uint64_t layers = 4;            // L, weight matrices; of a transformer: blocks
  std::uint64_t d = 32;                // input dimension; of a transformer: its width
  std::uint64_t width = 64;            // units of each hidden layer
  std::uint64_t classes = 10;          // outputs
  std::uint64_t n = 256;               // samples; of a transformer: tokens
  std::uint64_t steps = 300;           // of training with all samples
  std::string optimizer = "adam";
  double lr = 0.01;
  std::vector<std::uint64_t> measure_steps = {0, 4, 32, 300};
  std::uint64_t directions = 20;  // random directions at each of them
};

std::unique_ptr<Study> make_curvature_study();

}  // namespace ranklab
