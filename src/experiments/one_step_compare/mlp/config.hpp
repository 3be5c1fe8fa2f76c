// `one-step-compare --study mlp`: a net of four layers without biases learns y = x_1 x_2 x_3 by full-batch gradient descent, by
// SpecGD (spectral steps on layers 2 and 3, Euclidean ones on 1 and 4) and, if asked, by Muon, all from the same weights; with the
// ranks that condition (1.8) compares, layer by layer ([Spectral] Figures 1, 4 and 18).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "experiments/study.hpp"

namespace ranklab {

struct MlpConfig {
  std::string activation = "relu2";                 // sigma; swiglu is gated, and its hidden weights have twice the rows
  std::uint64_t d = 128;                            // input dimension, at least the 3 that y needs
  std::uint64_t width = 0;                          // h, units of each hidden layer; 0: 4 d
  std::uint64_t n = 512;                            // samples, all of them in each step
  std::uint64_t steps = 400;                        // T
  double lr_gd = 0.081;                             // multiplies GD's steps 1 / L_F
  double lr_spec = 0.1;                             // multiplies SpecGD's steps, those of layers 1 and 4 too
  std::vector<std::string> optimizer = {"specgd"};  // what runs beside GD
  double lr_muon = 0.02;                            // Muon's learning rate on layers 2 and 3; 1 and 4 step as SpecGD's do
  double momentum = 0.95;                           // Muon's beta
  bool equal_lr = false;                            // SpecGD also with lr_gd, so that both have one learning rate
  std::uint64_t record_every = 1;                   // steps between two measurements of the ranks
  std::vector<std::string> panels = {"loss", "stable-rank", "nuclear-rank", "ratio"};  // what the figure draws, in this order
  std::string dump;  // folder for trial 0's last activations and gradients; empty: none
};

std::unique_ptr<Study> make_mlp_study();

}  // namespace ranklab
