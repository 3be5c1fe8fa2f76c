// `rank-collapse --describe FILE`: describes published weights and the cost of running them.
#pragma once

#include <string>

namespace ranklab {

/// Returns lines for a terminal: the model, its sizes, its parameters and their type, the memory of
/// a run, the operations per token, and the seconds per sequence on this machine, estimated from
/// one timed block. Throws Failure for a file that Checkpoint cannot open.
std::string describe_weights(const std::string& path);

}  // namespace ranklab
