// `rank-collapse --study escalation-lemmas`: the proof of [Shallow] Theorem 2.6 step by step
// (Lemmas A.2, A.3 and A.5, Proposition 2.5), and Corollary 2.7 and Remark 2.8 with doubly
// stochastic attention.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "experiments/study.hpp"

namespace ranklab {

struct EscalationLemmasConfig {
  std::uint64_t tokens = 32;                      // n, at least 2
  std::vector<std::uint64_t> dim = {16, 32, 64};  // d
  std::vector<double> t = {0.01, 0.3, 1.0};       // X = e v' + t Q
  std::vector<double> alpha = {0.5, 1.0, 2.0};    // Y = X + alpha P X W
};

/// A trial is one sample of W for each d. v, Q, W_q and W_k are the same for the whole run.
std::unique_ptr<Study> make_escalation_lemmas_study();

}  // namespace ranklab
