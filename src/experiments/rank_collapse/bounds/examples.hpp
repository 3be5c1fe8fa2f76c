// Small cases, worked by hand, in which printed statements of [LambdaSkip] or steps of its proofs fail. They go through the
// same judges as the random stacks, under the same names, and are counted once per run.
#pragma once

#include "experiments/rank_collapse/bounds/findings.hpp"

namespace ranklab::bounds {

Findings worked_examples();

}  // namespace ranklab::bounds
