// `rank-collapse --describe FILE`: what published weights are, and what it costs to run them.
#pragma once

#include <string>

namespace ranklab {

/// Lines for a terminal: the model, its sizes, its parameters and their type, the memory of a run, the work per token and the
/// seconds of a sequence on this machine, from a block that is timed here. Throws Failure for what Checkpoint cannot open.
std::string describe_weights(const std::string& path);

}  // namespace ranklab
