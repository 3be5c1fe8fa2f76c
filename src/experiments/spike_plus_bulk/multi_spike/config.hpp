// `--study multi-spike` of `spiked-model` and `teacher-student`: how long the nuclear rank of the
// gradient stays of the order of the dimension when the Gram matrix has several spikes ([Spectral]
// Theorem 3.6, Remark 1; Theorem 3.11, Corollary 3.12). The matrices are synthetic
// (models/spiked_gram.hpp); other studies use the features of a network.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "experiments/spike_plus_bulk/model.hpp"
#include "experiments/study.hpp"

namespace ranklab {

struct MultiSpikeConfig {
  std::vector<std::uint64_t> d = {64, 128,
                                  256};  // k = m = d; exponents require at least three sizes
  std::uint64_t spikes = 4;  // r of Assumption F, p of Assumption H, at most the smallest d
  std::vector<double> spike_low = {0.75};  // l: the smallest spike is d^l
  std::vector<double> spike_high = {
      1.0};                       // u: the largest spike is d^u; every pair with l <= u is run
  std::vector<double> c = {2.0};  // step eta = 1 / (c ||B||)
  std::uint64_t steps = 0;        // last iteration examined; 0: 20 c d^u log d, rounded up
  double epsilon =
      0.5;  // eps of Remarks 1 and 2: the longer window has nr >= d^(1 - eps), in (0, 1)
};

/// The name of a scalar, series or claim contains l=, u=, c= if the flag has several values, and
/// always d=. The plain names `burn_in`, `window_end` and so on belong to the last value of every
/// list.
std::unique_ptr<Study> make_multi_spike_study(LabelModel model);

}  // namespace ranklab
