// `rank-collapse --study train`: models learn with lambda-skip connections, and with the mean token taken out of post-norm blocks.
// What becomes of their tokens meanwhile? ([LambdaSkip] Table 1, Figure 5, and the trained models of Figures 1 and 2; [Shallow]
// Figures 6 and 7; all at the size of a laptop.)
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "experiments/study.hpp"

namespace ranklab {

/// 0, "" and an empty list stand for the task's own value, which settle() puts there. Words as {"1200", "mamba2:800"} are one value
/// for all curves, and others for some: the key is a model, a start or a variant.
struct TrainConfig {
  std::string task = "recall";
  std::vector<std::string> model = {"attention"}, variant = {"pre"};
  std::vector<std::string> lambda = {"1"};  // numbers, `learned`, and `learned:RATE` in place of lambda_rate
  double lambda_start = -1, lambda_rate = 0.1;
  std::vector<std::string> lambda_where = {"mixer"}, init;
  double init_variance = -1;  // d sigma^2 of the start `normal`; -1: the task's own
  // Of the variant de-escalated.
  double tau = 1;
  std::vector<std::string> mean;
  std::string at;
  std::vector<std::uint64_t> layers;  // L
  std::uint64_t dim = 0, heads = 0;   // d, h
  std::vector<std::string> ffn, norm = {"layer"};
  std::string activation, positions;
  std::uint64_t batch = 0, warmup = 0;  // warm-up: 0 stands for none where variants are compared, else for a tenth of the steps
  std::vector<std::string> steps, lr;
  // Of the variant post, one curve for each.
  std::vector<double> lr_post;
  std::vector<std::uint64_t> warmup_post;
  std::string schedule;
  double clip = -1, weight_decay = -1;  // -1: the task's own
  // recall and text
  std::string vocab;         // recall: the number of ids; text: char, or bpe:<V>
  std::uint64_t length = 0;  // tokens of a sequence; of images the image says it
  std::uint64_t pairs = 4;   // of recall
  // pixels and patches
  std::string idx, digits, cifar, readout;
  std::uint64_t pool = 0, patch = 0, train_size = 5000, test_size = 1000;
  // text
  std::string text;

  std::string save;  // trained weights, one file for each curve and trial

  bool is_images() const { return task == "pixels" || task == "patches"; }
  /// Whether the run asks what [Shallow] asks, about the place of the norms and de-escalation, and not about lambda: of its tasks.
  bool compares_variants() const { return task == "patches" || (task == "text" && variant != std::vector<std::string>{"pre"}); }
};

std::unique_ptr<Study> make_train_study();

}  // namespace ranklab
