// The command `one-step-compare`: one Euclidean step compared with one spectral step ([Spectral]
// Sections 1, 2.2 and 4).
#pragma once

#include <memory>

#include "experiments/study.hpp"

namespace ranklab {

Experiment one_step_compare_experiment();

// One for each study, at the end of its file.
std::unique_ptr<Study> make_curvature_study();
std::unique_ptr<Study> make_gpt_study();
std::unique_ptr<Study> make_mlp_init_study();
std::unique_ptr<Study> make_mlp_study();
std::unique_ptr<Study> make_regression_study();
std::unique_ptr<Study> make_transformer_init_study();

}  // namespace ranklab
