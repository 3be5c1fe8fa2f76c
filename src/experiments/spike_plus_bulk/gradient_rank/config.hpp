// `spiked-model --study gradient-rank` and `teacher-student --study gradient-rank`: the nuclear
// rank of the gradient along gradient descent from W_0 = 0, for several numbers of features k
// ([Spectral] Section 3, Figures 14 and 15).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "experiments/spike_plus_bulk/model.hpp"
#include "experiments/study.hpp"

namespace ranklab {

struct GradientRankConfig {
  std::string activation = "relu";  // sigma; swiglu is gated and draws a second V
  std::vector<std::uint64_t> k = {64, 128, 256, 512};  // features
  double d_ratio = 0.5;        // d / k, input dimension over features; d is rounded
  double n_ratio = 2.0;        // n / k, samples over features; n is rounded
  std::uint64_t m = 0;         // rows of W; 0: m = k
  std::uint64_t steps = 1024;  // T, the last iteration
  std::vector<std::string> sample_steps = {
      "all"};               // iterations to record, from 0 to T; or the one word "all"
  double c = 1.0;           // eta = 1 / (c ||B|| + offset); below 1/2 gradient descent diverges
  double eta_offset = 0.0;  // the constant c of Lemma 3.5 and Theorem 3.9
};

std::unique_ptr<Study> make_gradient_rank_study(LabelModel model);

}  // namespace ranklab
