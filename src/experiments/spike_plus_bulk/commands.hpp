// The commands `spiked-model` (labels from the same features) and `teacher-student` (labels from
// other features): the same three studies of the nuclear rank of the gradient.
#pragma once

#include "experiments/study.hpp"

namespace ranklab {

Experiment spiked_model_experiment();
Experiment teacher_student_experiment();

}  // namespace ranklab
