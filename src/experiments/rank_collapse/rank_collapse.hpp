// The command `rank-collapse`: depth dynamics of token representations ([LambdaSkip], [Shallow]).
#pragma once

#include "experiments/study.hpp"

namespace ranklab {

Experiment rank_collapse_experiment();

}  // namespace ranklab
