// The command `one-step-compare`: one Euclidean step compared with one spectral step ([Spectral]
// Sections 1, 2.2 and 4).
#pragma once

#include "experiments/study.hpp"

namespace ranklab {

Experiment one_step_compare_experiment();

}  // namespace ranklab
