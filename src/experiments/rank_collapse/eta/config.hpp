// `rank-collapse --study eta`: how closely xi_1/xi_2 of an attention step follows E[xi_1]/E[xi_2]
// if its weight W is redrawn ([Shallow] Figure 8, Lemmas 2.4, A.1 and A.5).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "experiments/study.hpp"

namespace ranklab {

struct EtaConfig {
  EtaConfig();

  std::uint64_t tokens = 100;                     // n, at least 2
  std::vector<std::uint64_t> dim = {10, 20, 40};  // d, one curve for each
  std::vector<double> t;                          // X = e v' + t Q, in (0, 1]; 0.05, 0.1, ..., 1
  double alpha = 1.0;                             // Y = X + alpha P X W; positive
};

/// A trial is one sample of W. v, Q, W_q and W_k are the same for the whole run.
std::unique_ptr<Study> make_eta_study();

}  // namespace ranklab
