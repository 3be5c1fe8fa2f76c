// The commands `spiked-model` (labels from the same features) and `teacher-student` (labels from
// other features): the same three studies of the nuclear rank of the gradient.
#pragma once

#include <memory>

#include "experiments/spike_plus_bulk/model.hpp"
#include "experiments/study.hpp"

namespace ranklab {

Experiment spiked_model_experiment();
Experiment teacher_student_experiment();

// One for each study, at the end of its file.
std::unique_ptr<Study> make_gradient_rank_study(LabelModel model);
std::unique_ptr<Study> make_multi_spike_study(LabelModel model);
std::unique_ptr<Study> make_features_study(LabelModel model);

}  // namespace ranklab
