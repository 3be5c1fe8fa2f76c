// Help texts, generated from the declarations that parse.
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "core/fields.hpp"
#include "experiments/study.hpp"

namespace ranklab {

/// `ranklab --help`.
std::string program_help();

/// `ranklab COMMAND --help` of an experiment: its studies, and each flag with symbol, domain and default. With a study, that one
/// alone and an example.
std::string experiment_help(const Experiment& experiment, const std::string& only);

/// Where --help was given to a utility: prints its help from its usage line, summary and flags, and returns true.
bool prints_help(const Arguments& arguments, const std::string& usage, const std::string& summary,
                 const std::vector<Field>& fields);

}  // namespace ranklab
