// --sweep NAME=VALUES: prints one command line for each point of a grid, for a scheduler to run.
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "experiments/study.hpp"

namespace ranklab {

/// The values of "64,128,256", "1..10" or "0.5,1..3". If the text has a semicolon, only semicolons
/// separate values, so that a value may be a list: "1,2;3,4". Throws UsageError that starts with
/// `label`.
std::vector<std::string> sweep_values(const std::string& text, const std::string& label);

/// The command lines of all points, each with its own --out. The last sweep varies fastest.
/// Resolves every point, so that invalid points are rejected here. Throws UsageError and Failure.
std::vector<std::string> sweep_lines(const Experiment& experiment, const Arguments& arguments);

}  // namespace ranklab
