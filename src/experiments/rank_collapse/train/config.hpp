// `rank-collapse --study train`: do models with lambda-skip connections learn, and what becomes of their tokens meanwhile?
// ([LambdaSkip] Table 1, Figure 5, and the trained models of Figures 1 and 2, at the size of a laptop.)
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "experiments/study.hpp"

namespace ranklab {

/// 0, "" and an empty list stand for the task's own value, which settle() puts there. Words as {"1200", "mamba2:800"} are one value
/// for all curves, and others for some: the key is a model or a start.
struct TrainConfig {
  std::string task = "recall";
  std::vector<std::string> model = {"attention"}, variant = {"pre"};
  std::vector<std::string> lambda = {"1"};  // numbers, and `learned`
  double lambda_start = -1, lambda_rate = 0.1;
  std::vector<std::string> lambda_where = {"mixer"}, init = {"fan"};
  std::vector<std::uint64_t> layers;  // L
  std::uint64_t dim = 0, heads = 1;   // d, h
  std::vector<std::string> ffn, norm = {"layer"};
  std::uint64_t batch = 0, warmup = 0;  // warm-up: 0 stands for a tenth of the steps
  std::vector<std::string> steps, lr;
  double weight_decay = -1;  // -1: the task's own
  // recall and text
  std::string vocab;         // recall: the number of ids; text: char, or bpe:<V>
  std::uint64_t length = 0;  // tokens of a sequence; of pixels the image says it
  std::uint64_t pairs = 4;   // of recall
  // pixels
  std::string idx, digits, cifar;
  std::uint64_t pool = 4, train_size = 5000, test_size = 1000;
  // text
  std::string text;

  std::string save;  // trial 0's weights, one file for each curve
};

std::unique_ptr<Study> make_train_study();

}  // namespace ranklab
