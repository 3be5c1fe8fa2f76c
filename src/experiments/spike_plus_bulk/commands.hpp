// The commands `spiked-model` (labels of the features themselves) and `teacher-student` (labels of other features): the same
// three studies of the gradient's nuclear rank.
#pragma once

#include "experiments/study.hpp"

namespace ranklab {

Experiment spiked_model_experiment();
Experiment teacher_student_experiment();

}  // namespace ranklab
