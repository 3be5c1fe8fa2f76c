// The list of all commands.
#pragma once

#include <string>
#include <vector>

#include "experiments/study.hpp"

namespace ranklab {

/// All experiments, in the order of the help text. To add one, add a line to the list.
const std::vector<Experiment>& experiments();

/// The experiment with this name, or null.
const Experiment* find_experiment(const std::string& name);

/// A command that is not an experiment, such as run, plot or report.
struct Utility {
  std::string name;
  std::string usage;                                  // arguments after the name, for help texts
  std::string summary;                                // one line, for help texts
  int (*run)(const std::vector<std::string>& words);  // returns the exit code
};
const std::vector<Utility>& utilities();

// The commands, each in its own file. They take the words after the command and return the exit
// code. They throw UsageError and Failure.
int run_experiment(const Experiment& experiment, const std::vector<std::string>& words);
int advise_command(const std::vector<std::string>& words);
int run_command(const std::vector<std::string>& words);
int plot_command(const std::vector<std::string>& words);
int report_command(const std::vector<std::string>& words);
int verify_command(const std::vector<std::string>& words);
int reproduce_command(const std::vector<std::string>& words);
int merge_command(const std::vector<std::string>& words);
int status_command(const std::vector<std::string>& words);
int compare_command(const std::vector<std::string>& words);
int export_command(const std::vector<std::string>& words);
int papers_command(const std::vector<std::string>& words);
int list_command(const std::vector<std::string>& words);
int man_command(const std::vector<std::string>& words);

}  // namespace ranklab
