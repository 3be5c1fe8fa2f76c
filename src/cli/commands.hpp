// The list of all commands.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/presets.hpp"
#include "core/fields.hpp"
#include "experiments/study.hpp"

namespace ranklab {

/// All experiments, in the order of the help text. To add one, add a line to the list.
const std::vector<Experiment>& experiments();

/// The experiment with this name, or null.
const Experiment* find_experiment(const std::string& name);
/// The experiment that a preset names. Throws a UsageError that starts with `file` for an unknown
/// command.
const Experiment& experiment_of(const std::string& command, const std::string& file);
/// The experiment that wrote a file: one of these, or `ranks`, which has no presets. Throws a
/// Failure that starts with `file`.
const Experiment& writer_of(const std::string& command, const std::string& file);

inline constexpr std::size_t any_number = std::numeric_limits<std::size_t>::max();

/// How many arguments a utility takes that are not flags.
struct Positional {
  std::size_t least = 0, most = 0;
  std::string what = {};  // such as "two result files", for messages
};

/// A command that is not an experiment, such as plot or report: the declaration that parses its
/// words and prints its help.
struct Utility {
  std::string name;
  std::string usage = {};    // its positional arguments, for help texts
  std::string summary = {};  // a phrase without a full stop: what it does
  std::string details = {};  // further sentences of its own help
  Positional takes = {};
  std::vector<Field> flags = {};  // bound to variables that run() reads, so an object runs once
  // Its flags are those of a study, so run() parses the words itself; `flags` are only for the help
  bool passes_words_on = false;
  // Returns the exit code. Throws UsageError and Failure.
  std::function<int(const Arguments&)> run = {};
};

/// New declarations of all utilities, in the order of the help text. To add one, add a line to the
/// list.
std::vector<Utility> utilities();

/// Parses the words after the name of the utility, sets its flags and runs it, or prints its help
/// if the words have --help. Returns the exit code. Throws UsageError and Failure.
int run_utility(const Utility& utility, const std::vector<std::string>& words);

// The commands, each in its own file.
// `read` is a preset that is already read, if the words name it.
int run_experiment(const Experiment& experiment, const std::vector<std::string>& words,
                   const std::optional<Preset>& read = {});
Utility ranks_command();
Utility judge_command();
Utility numbers_command();
Utility run_command();
Utility plot_command();
Utility report_command();
Utility verify_command();
Utility reproduce_command();
Utility merge_command();
Utility compare_command();
Utility export_command();
Utility papers_command();
Utility list_command();
Utility man_command();

}  // namespace ranklab
