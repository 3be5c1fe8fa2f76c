// The words and the bands of the figures that the studies of `rank-collapse` share.
#pragma once

#include <cstddef>
#include <string>

#include "nn/blocks/model_spec.hpp"
#include "report/figure.hpp"

namespace ranklab {

/// The model's title, and its C_V if that is not Gaussian: "softmax attention, C_V = I". If there
/// are several trainings, it says "trained here" and the size, to distinguish them from published
/// weights.
std::string figure_label(const ModelSpec& spec);

/// "threshold 0.1", for the line below which tokens count as collapsed.
std::string threshold_label(double threshold);

/// The axes of mu / ||Y||_F and of 1 - sigma_1^2 / ||Y||_F^2.
Axis normalized_mu_axis();
Axis rank_one_residual_axis();

/// Single trials if they are few or if each is a training; otherwise the interval of the mean, on
/// which the verdicts depend.
BandKind band_of_trials(const ModelSpec& spec, std::size_t trials);

}  // namespace ranklab
