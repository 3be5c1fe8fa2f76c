// `rank-collapse --study train`: trains models with lambda-skip connections, or with the mean token
// removed from post-norm blocks, and measures their tokens. Sources: [LambdaSkip] Table 1, Figure
// 5, and the trained models of Figures 1 and 2; [Shallow] Figures 6 and 7. All sizes fit a laptop.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "experiments/study.hpp"

namespace ranklab {

/// 0, "" and an empty list mean the task's default, which resolve_defaults() fills in. A list such
/// as {"1200", "mamba2:800"} holds one value for all curves, or KEY:VALUE for some of them. The key
/// is a model, an initialization (--init) or a variant.
struct TrainConfig {
  std::string precision = "f64";
  std::string task = "recall";
  std::vector<std::string> model = {"attention"}, variant = {"pre"};
  // Numbers, `learned`, or `learned:RATE` to override lambda_rate.
  std::vector<std::string> lambda = {"1"};
  double lambda_start = -1, lambda_rate = 0.1;
  std::vector<std::string> lambda_where = {"mixer"}, init;
  double init_variance = -1;  // d sigma^2 of the initialization `normal`; -1: the task's default
  // For the variant de-escalated.
  double tau = 1;
  std::vector<std::string> mean;
  std::string at;
  // Places and taus such as {"end:1", "ffn:learned"}, one curve for each. Empty: `at` and `tau`.
  std::vector<std::string> removal;
  double tau_rate = 10;               // of a learned tau, which starts at `tau`
  std::vector<std::uint64_t> layers;  // L
  std::uint64_t dim = 0, heads = 0;   // d, h
  std::vector<std::string> ffn, norm = {"layer"};
  std::string activation, positions;
  // warmup 0: no warm-up if variants are compared, otherwise a tenth of the steps.
  std::uint64_t batch = 0, warmup = 0;
  std::vector<std::string> steps, lr;
  // For the variant post: one curve per value.
  std::vector<double> lr_post;
  std::vector<std::uint64_t> warmup_post;
  std::string schedule;
  double clip = -1, weight_decay = -1;  // -1: the task's default
  // recall and text
  std::string vocab;         // recall: the number of ids; text: char, or bpe:<V>
  std::uint64_t length = 0;  // tokens of a sequence; for images, the image size sets it
  std::uint64_t pairs = 4;   // recall: key-value pairs
  // pixels and patches
  std::string idx, digits, cifar, readout;
  std::uint64_t pool = 0, patch = 0, train_size = 5000, test_size = 1000;
  // text
  std::string text;

  std::string save;  // trained weights, one file per curve and trial

  bool single_precision() const { return precision == "f32"; }
  bool is_images() const { return task == "pixels" || task == "patches"; }
  /// Whether the run compares variants as in [Shallow] (placement of norms and de-escalation)
  /// instead of lambdas. The task and the variants decide.
  bool compares_variants() const {
    return task == "patches" || (task == "text" && variant != std::vector<std::string>{"pre"});
  }
};

std::unique_ptr<Study> make_train_study();

}  // namespace ranklab
