// Help texts, generated from the field declarations that also parse the flags.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/presets.hpp"
#include "core/fields.hpp"
#include "experiments/study.hpp"

namespace ranklab {

/// A flag as help texts and the man page show it.
struct FlagHelp {
  std::string spelling;  // "-o, --out"
  std::string text;      // symbol, meaning, domain and default
};
std::vector<FlagHelp> flag_help(const std::vector<Field>& fields);

/// The flags that all studies of an experiment share, with the defaults on this machine.
std::vector<FlagHelp> common_flags(const Experiment& experiment);

/// "plot RESULT.json [flags]"
std::string usage_of(const Utility& utility);
/// What a utility does, in sentences.
std::string description_of(const Utility& utility);
/// The text of a utility's `--help`.
std::string utility_help(const Utility& utility);

/// The text of `ranklab --help`.
std::string program_help();
/// The text of `ranklab` without arguments: first commands for a theorist, a practitioner and a
/// reviewer. `program_name` is what the user typed.
std::string first_steps(const std::string& program_name);
/// The terms that `ranklab help TERM` defines, and the definition of one of them; empty for an
/// unknown term.
std::vector<std::string> terms();
std::string definition_of(const std::string& term);
/// What `help` says about the words: the definition of a term ("stable rank"), or what a preset is
/// about; empty for other words. Throws UsageError that names the presets of "Figure 3".
std::string topic_text(const std::vector<std::string>& words);

/// The text of `ranklab COMMAND --help` for an experiment: its studies, and each flag with symbol,
/// domain and default. If a flag or a preset names a study, shows only that study, with the values
/// of the preset and of the flags, the flags that do something with these values, and an example.
/// Throws UsageError for flags that are not allowed.
std::string experiment_help(const Experiment& experiment, const Arguments& common,
                            const std::optional<Preset>& preset);

}  // namespace ranklab
