// What the curves of a run are compared for: values of lambda (train_lambdas/) or variants of the
// blocks (train_variants/). It says what a training measures, how the runs are judged and how they
// are drawn.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/rank_collapse/train/train.hpp"
#include "report/builder.hpp"

namespace ranklab::train {

struct Purpose {
  const char* title;            // of the result
  std::uint64_t interim_cases;  // held-out answers after each tenth of a run; at its end all
  bool follows_test_loss;       // records the held-out loss after each tenth
  bool looks_ahead;             // language models: records what depends on later tokens
  // What is recorded at such a time over representations and over blocks.
  std::vector<std::string> (*representation_series)(const std::string& moment);
  std::vector<std::string> (*block_series)(const std::string& moment);
  void (*judge)(const Plan& plan, const Task& task, const Records& records, Claims& claims);
  void (*draw)(ResultBuilder& out, const Plan& plan, const Task& task);
};

/// The purpose that the config has.
const Purpose& purpose_of(const Config& config);

}  // namespace ranklab::train
