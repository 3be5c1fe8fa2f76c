// spiked-model and teacher-student --study features: post-activations of Gaussian inputs beside the formulas of [Spectral]
// Section 3: mean vector, covariance, phi (Figure 16), Theorems 3.2, 3.4 and Lemmas 3.3, 3.5 for the Gram matrix of one feature
// map; Theorem 3.7, Corollary 3.8 and Theorem 3.9 for the cross-Gram matrix of two.
#pragma once

#include <memory>

#include "experiments/spike_plus_bulk/model.hpp"
#include "experiments/study.hpp"

namespace ranklab {

std::unique_ptr<Study> make_features_study(LabelModel model);

}  // namespace ranklab
