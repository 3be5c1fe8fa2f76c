// `one-step-compare --study regression`: one Euclidean and one spectral step on L(W) = ||W A -
// Y||_F^2 / (2 n), with a new random (A, W, Y) in every trial ([Spectral] Section 1.2), and the
// variants of that comparison in Sections 4.4 and 4.5.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "experiments/study.hpp"

namespace ranklab {

struct RegressionConfig {
  // Sizes, each drawn log-uniformly: W (m, k), A (k, n).
  std::uint64_t m_low = 1, m_high = 128;
  std::uint64_t k_low = 2, k_high = 128;
  std::uint64_t n_low = 2, n_high = 512;
  // Constructions of A, one drawn per trial: `gaussian`, `power-law` (random singular vectors, s_i
  // = i^-p), or the activation sigma of random features sigma(V X).
  std::vector<std::string> features = {"gaussian", "power-law", "relu", "abs",   "leaky-relu",
                                       "relu2",    "gelu",      "silu", "swiglu"};
  // Constructions of Y, one drawn per trial: `realizable` (W# A), `noisy` (W# A + noise),
  // `arbitrary`, `low-rank` (the residual has low rank), `late` (realizable, with W after some
  // steps of gradient descent).
  std::vector<std::string> labels = {"realizable", "noisy", "arbitrary", "low-rank", "late"};
  double decay = 3.0;          // p of power-law features is uniform in [0, decay]
  double deficient = 0.3;      // share of gaussian and power-law A with a reduced rank, log-uniform
  double scale_decades = 3.0;  // A and W are each multiplied by 10^u, u uniform in +-scale_decades
  std::uint64_t late =
      1000;  // largest number of gradient-descent steps of `late` labels, log-uniform from 1
  double coupling_decades =
      2.0;  // C_op / L_F = 10^u, u uniform in +-coupling_decades ([Spectral] eq. (4.16))
};

/// Values that --features and --labels may take.
std::vector<std::string> feature_names();
const std::vector<std::string>& label_names();

std::unique_ptr<Study> make_regression_study();

}  // namespace ranklab
