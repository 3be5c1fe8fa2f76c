// `one-step-compare --study gpt`: trains a small GPT on real text with several optimizers and
// measures the two sides of condition (1.8) during training ([Spectral] Figures 2 and 5 to 10,
// Table 2, at a size for a laptop).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "experiments/study.hpp"

namespace ranklab {

struct GptConfig {
  std::string precision = "f64";
  std::string text;                // file; empty: the King James Bible
  std::string vocab = "bpe:1024";  // or char
  std::uint64_t layers = 4, dim = 64, heads = 4;
  std::uint64_t context = 64, batch = 16;  // T, tokens per sequence; B, sequences per step
  std::uint64_t steps = 300;
  std::string activation = "relu2", norm = "rms", position = "rotary";
  std::string qk_norm = "auto";  // resolved to on with rotary positions, off with learned ones
  std::string init = "modded";
  std::string mean_token = "keep";  // or remove: from the inputs of attention and net
  std::vector<std::string> optimizer = {"adam"};
  double lr_adam = 0.01, lr_muon = 0.02, lr_polar = 0.02,
         lr_sgd = 0.3;         // for the matrices inside layers
  double lr_embedding = 0.03;  // Adam's, for embedding, positions and head
  double lr_outer = 3;         // the optimizer's, for embedding and head, if it updates them
  std::vector<std::string> spectral_on = {
      "hidden"};                             // what the optimizer updates; Adam updates the rest
  std::vector<std::string> also;             // extra runs: "muon,spectral-on=W2"
  std::vector<std::uint64_t> measure_steps;  // empty: 0-4, 8, 16, 32, 64 and every 50
  bool one_step = false;
  std::vector<std::uint64_t>
      one_step_at;           // empty: the measured ones of 4, 8, 16, 32, 100 and the last
  std::string save, record;  // output of trial 0's first run: a file, a folder
  std::vector<std::uint64_t> save_steps;  // empty: the last

  bool single_precision() const { return precision == "f32"; }
  std::vector<std::uint64_t> steps_to_save() const {
    return save_steps.empty() ? std::vector{steps} : save_steps;
  }
};

std::unique_ptr<Study> make_gpt_study();

}  // namespace ranklab
