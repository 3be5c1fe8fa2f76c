// `one-step-compare --study mlp`: trains a four-layer network without biases on y = x_1 x_2 x_3
// with full-batch gradient descent (GD), SpecGD (spectral steps on layers 2 and 3, Euclidean steps
// on layers 1 and 4) and optionally Muon, all from the same weights. It measures the two sides of
// condition (1.8) in each layer ([Spectral] Figures 1, 4 and 18).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "experiments/study.hpp"

namespace ranklab {

struct MlpConfig {
  std::string precision = "f64";
  std::string activation =
      "relu2";                // sigma; swiglu is gated: its hidden weights have twice as many rows
  std::uint64_t d = 128;      // input dimension, at least 3
  std::uint64_t width = 0;    // h, units of each hidden layer; 0: 4 d
  std::uint64_t n = 512;      // samples; each step uses all of them
  std::uint64_t steps = 400;  // T
  double lr_gd = 0.081;       // factor on GD's steps 1 / L_F
  double lr_spec = 0.1;       // factor on all of SpecGD's steps, including layers 1 and 4
  std::vector<std::string> optimizer = {"specgd"};  // compared with GD
  double lr_muon =
      0.02;  // Muon's learning rate on layers 2 and 3; layers 1 and 4 step as in SpecGD
  double momentum = 0.95;          // Muon's beta
  bool equal_lr = false;           // also run SpecGD with lr_gd
  std::uint64_t record_every = 1;  // steps between two measurements of the ranks
  std::vector<std::string> panels = {"loss", "stable-rank", "nuclear-rank",
                                     "ratio"};  // panels of the figure, in this order
  std::string dump;  // folder for trial 0's last activations and gradients; empty: none

  bool single_precision() const { return precision == "f32"; }
};

std::unique_ptr<Study> make_mlp_study();

}  // namespace ranklab
