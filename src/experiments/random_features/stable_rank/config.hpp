// `random-features --study stable-rank`: the stable rank of post-activations compared with
// [Spectral] Figure 12 and with the bounds of Theorems 2.6 to 2.8, Lemma 2.9 and eq. (2.15).
//
// Shapes: X is d x n, W_1 is k x d, W_l is k x k for l > 1, A_l = sigma(W_l A_(l-1)) is k x n with
// A_0 = X.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "experiments/study.hpp"

namespace ranklab {

struct StableRankConfig {
  std::vector<std::string> activation = {"abs",   "relu", "leaky-relu",
                                         "relu2", "gelu", "silu"};  // sigma, a list
  std::uint64_t k = 512;                                            // rows of every W
  std::uint64_t d = 256;    // input dimension, also of the token embedding
  std::uint64_t n = 2048;   // samples
  std::uint64_t depth = 5;  // layers
  double epsilon = 0.1;     // eps_1 = eps_2 of Theorems 2.6 and 2.7, in (0, 1)
  std::uint64_t rank = 5;   // rank of the low-rank W, at most min(k, d)
  double power = 1.0;       // p of the power-law W: singular values proportional to i^(-p)
  std::vector<double> variances = {0.25, 0.5, 1.0, 2.0,
                                   4.0};  // w' Sigma w at which Figure 12 is checked
  std::uint64_t vocabulary = 50257;       // V, number of distinct tokens
  std::uint64_t tokens = 16384;           // length of the token sequence
  double zipf = 0.86;                     // s, token frequencies proportional to j^(-s)
  double failure_probability = 0.25;      // c of Theorem 2.8, in (0, 1/2)
};

std::unique_ptr<Study> make_stable_rank_study();

}  // namespace ranklab
