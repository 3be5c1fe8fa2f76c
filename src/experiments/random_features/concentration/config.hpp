// `random-features --study concentration`: from the second moment of a random vector to the stable
// rank of a sample. [Spectral] Lemma 2.1, Theorems 2.2 and 2.3, Lemma 2.5, Theorem 2.8, Lemmas 2.11
// and 2.12, Theorems B.1 and B.2.
//
// z is a random vector with second moment M = E zz' and mean mu; Z_n has n independent copies of z
// in its columns, and M_n = Z_n Z_n' / n. st(Z_n) = er(M_n) = tr(M_n) / ||M_n||_op.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "experiments/study.hpp"

namespace ranklab {

struct ConcentrationConfig {
  std::uint64_t draws = 20;  // independent samples per trial, for every statement and size
  // Theorem 2.2
  double p0 = 0.001;                  // probability of a large sample
  double failure_probability = 0.25;  // c; the bound may fail with probability 2c
  std::uint64_t bulk = 128;           // dimension of the small samples
  // Lemmas 2.1 and 2.5, Theorems 2.3, B.1 and B.2
  std::uint64_t d = 8;                                        // dimension of z
  std::vector<std::uint64_t> n = {1024, 4096, 16384, 65536};  // sample sizes, ascending
  double u = 4.0;                                             // of Theorems 2.3, B.1 and B.2
  double epsilon = 0.1;                                       // eps_1 = eps_2 of Lemma 2.5
  // Theorem 2.8
  std::uint64_t depth = 5;   // layers with quadratic activations
  std::uint64_t width = 64;  // input dimension and rows of every weight matrix
  double noise = 0.1;        // standard deviation of the input around its mean
  // Lemmas 2.11 and 2.12
  std::uint64_t vector = 1024;  // dimension of x and g of Lemma 2.11
  std::uint64_t k = 512;        // rows of W of Lemma 2.12, which has `width` columns
  std::uint64_t columns = 32;   // of A of Lemma 2.12
};

std::unique_ptr<Study> make_concentration_study();

}  // namespace ranklab
