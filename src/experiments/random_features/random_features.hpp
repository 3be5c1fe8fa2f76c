// The command `random-features`: GD compared with SpecGD on random-feature regression, and the
// stable rank of post-activations.
#pragma once

#include <memory>

#include "experiments/study.hpp"

namespace ranklab {

Experiment random_features_experiment();

// One for each study, at the end of its file.
std::unique_ptr<Study> make_trajectory_study();
std::unique_ptr<Study> make_stable_rank_study();
std::unique_ptr<Study> make_concentration_study();

}  // namespace ranklab
