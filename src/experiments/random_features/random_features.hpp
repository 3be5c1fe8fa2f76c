// The command `random-features`: GD compared with SpecGD on random-feature regression, and the
// stable rank of post-activations.
#pragma once

#include "experiments/study.hpp"

namespace ranklab {

Experiment random_features_experiment();

}  // namespace ranklab
