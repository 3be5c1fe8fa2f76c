// `rank-collapse --study spectral-gap`: |lambda_2| of random stochastic matrices and of attention
// matrices before training ([Shallow] Section 2.5).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "experiments/study.hpp"

namespace ranklab {

struct SpectralGapConfig {
  std::vector<std::uint64_t> tokens = {32, 64, 128, 256, 512};  // n, each at least 2
  std::vector<std::uint64_t> dim = {16, 64, 256, 1024};         // d
};

/// A trial draws all matrices anew.
std::unique_ptr<Study> make_spectral_gap_study();

}  // namespace ranklab
