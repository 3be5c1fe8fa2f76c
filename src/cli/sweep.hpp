// --sweep NAME=VALUES: one command line for each point of a grid, for a scheduler to run. Nothing is run here.
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "experiments/study.hpp"

namespace ranklab {

/// The values of "64,128,256", "1..10" or "0.5,1..3"; with a semicolon in it the text is cut there alone, so that a value may
/// be a list: "1,2;3,4". Throws UsageError that starts with `label`.
std::vector<std::string> sweep_values(const std::string& text, const std::string& label);

/// The command lines of all points, the last sweep changing fastest, each with an --out of its own. Every point is resolved, so
/// that a line that could not run is refused here. Throws UsageError and Failure.
std::vector<std::string> sweep_lines(const Experiment& experiment, const Arguments& arguments);

}  // namespace ranklab
