// Help texts, generated from the declarations that parse.
#pragma once

#include <string>
#include <vector>

#include "core/fields.hpp"
#include "experiments/study.hpp"

namespace ranklab {

/// `ranklab --help`.
std::string program_help();

/// `ranklab COMMAND --help` of an experiment: its studies, and each flag with symbol, domain and default.
std::string experiment_help(const Experiment& experiment);

/// Help of a utility from its usage line, summary and flags.
std::string utility_help(const std::string& usage, const std::string& summary, const std::vector<Field>& fields);

}  // namespace ranklab
