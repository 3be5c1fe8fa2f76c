// `one-step-compare --study gpt`: a small GPT learns real text under several optimisers, with the ranks that condition (1.8)
// compares measured as it learns ([Spectral] Figures 2 and 5 to 10, Table 2, at the size of a laptop).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "experiments/study.hpp"

namespace ranklab {

struct GptConfig {
  std::string text;                // a file; empty: the King James Bible
  std::string vocab = "bpe:1024";  // or char
  std::uint64_t layers = 4, dim = 64, heads = 4;
  std::uint64_t context = 64, batch = 16;  // T, tokens of a sequence; B, sequences of a step
  std::uint64_t steps = 300;
  std::string activation = "relu2", norm = "rms", position = "rotary";
  std::string qk_norm = "auto";  // settled: on with rotary positions, off with learned ones
  std::string init = "modded";
  std::vector<std::string> optimizer = {"adam"};
  double lr_adam = 0.01, lr_muon = 0.02, lr_polar = 0.02, lr_sgd = 0.3;  // of the blocks inside layers
  double lr_embedding = 0.03;                                            // of Adam on embedding, positions and head
  double lr_outer = 3;                                // of the optimiser on embedding and head, where it steps them
  std::vector<std::string> spectral_on = {"hidden"};  // what the optimiser steps; the rest keeps Adam
  std::vector<std::string> also;                      // further runs: "muon,spectral-on=W2"
  std::vector<std::uint64_t> measure_steps;           // empty: 0-4, 8, 16, 32, 64 and every 50
  bool one_step = false;
  std::vector<std::uint64_t> one_step_at;  // empty: 4, 8, 16, 32, 100 and the last, as far as they are measured
  std::string save, record;                // files of trial 0's first run
  std::vector<std::uint64_t> save_steps;   // empty: the last
};

std::unique_ptr<Study> make_gpt_study();

}  // namespace ranklab
