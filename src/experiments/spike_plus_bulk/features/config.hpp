// spiked-model and teacher-student --study features: post-activations of Gaussian inputs compared
// with the formulas of [Spectral] Section 3: mean vector, covariance, phi (Figure 16),
// Theorems 3.2, 3.4 and Lemmas 3.3, 3.5 for the Gram matrix of one feature map; Theorem 3.7,
// Corollary 3.8, Theorem 3.9, Lemma 3.1, eq. (1.9) and the training time of Section 1 for the
// cross-Gram matrix of two.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "experiments/spike_plus_bulk/model.hpp"
#include "experiments/study.hpp"

namespace ranklab {

struct FeaturesConfig {
  std::vector<std::uint64_t> k = {128, 256, 512, 1024};  // features, a list
  std::uint64_t d = 0;                                   // input dimension; 0: k/2 for each k
  std::uint64_t n = 0;                                   // samples; 0: 2k for each k
  std::string activation = "relu";                       // sigma, not gated
  double offset = 1.0;                                   // c of the step 1/(c + ||B||_op), positive
  std::vector<std::uint64_t> wide_d = {16, 24, 40, 64};  // input dimensions at which Theorem 3.7 is
                                                         // measured with d^(7/4) features, a list
  std::uint64_t phi_points = 41;      // points t at which phi is shown, from -1 to 1
  std::uint64_t phi_samples = 65536;  // samples of the Monte Carlo estimate of phi
};

std::unique_ptr<Study> make_features_study(LabelModel model);

}  // namespace ranklab
