// Help texts, generated from the declarations that parse.
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "core/fields.hpp"
#include "experiments/study.hpp"

namespace ranklab {

/// A flag as help texts, the man page and completions show it.
struct FlagHelp {
  std::string name;
  char letter = 0;                   // 0: none
  std::string text;                  // symbol, what it means, domain and default
  std::vector<std::string> choices;  // the words that it allows; empty: others too
  bool is_switch = false;

  std::string spelling() const;  // "-o, --out"
};
std::vector<FlagHelp> flag_help(const std::vector<Field>& fields);

/// The flags that every study of an experiment has, with the defaults of this machine.
std::vector<FlagHelp> common_flags(const Experiment& experiment);

/// What `--help` of a utility says.
struct UtilityHelp {
  std::string usage, summary;
  std::vector<FlagHelp> flags;
};
UtilityHelp utility_help(const Utility& utility);

/// `ranklab --help`.
std::string program_help();
/// What to try first, for a theorist, a practitioner and a reviewer.
std::string first_steps();
/// The terms that `ranklab help TERM` explains, and the explanation of one; empty for an unknown term.
std::vector<std::string> terms();
std::string explanation_of(const std::string& term);

/// `ranklab COMMAND --help` of an experiment: its studies, and each flag with symbol, domain and default. With a study, that one
/// alone and an example.
std::string experiment_help(const Experiment& experiment, const std::string& only);

/// Where --help was given to a utility: prints its help from its usage line, summary and flags, and returns true.
bool prints_help(const Arguments& arguments, const std::string& usage, const std::string& summary,
                 const std::vector<Field>& fields);

}  // namespace ranklab
