// The commands `spiked-model` (labels from the same features) and `teacher-student` (labels from
// other features): the same three studies of the nuclear rank of the gradient.
#pragma once

#include <memory>

#include "experiments/study.hpp"

namespace ranklab {

/// The two models of [Spectral] Section 3. They differ only in the labels of L(W) = ||W A - Y||_F^2
/// / (2 n).
enum class LabelModel {
  realizable,  // Y = W# A, eq. (3.1): command spiked-model
  teacher,     // Y = W-bar A-bar with A-bar = sigma(V-bar X), eq. (3.14): command teacher-student
};

Experiment spiked_model_experiment();
Experiment teacher_student_experiment();

// One for each study, at the end of its file.
std::unique_ptr<Study> make_gradient_rank_study(LabelModel model);
std::unique_ptr<Study> make_multi_spike_study(LabelModel model);
std::unique_ptr<Study> make_features_study(LabelModel model);

}  // namespace ranklab
