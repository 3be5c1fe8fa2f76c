// The one list of commands.
#pragma once

#include <string>
#include <vector>

#include "experiments/study.hpp"

namespace ranklab {

/// The experiments that exist, in the order of the help text. A new one is one line here.
const std::vector<Experiment>& experiments();

/// The experiment of that name, or null.
const Experiment* find_experiment(const std::string& name);

/// A command around the experiments: run, plot, report, verify, compare, export, list and the like.
struct Utility {
  std::string name;
  std::string usage;                                  // what follows the name
  std::string summary;                                // one line
  int (*run)(const std::vector<std::string>& words);  // returns the exit code
};
const std::vector<Utility>& utilities();

// The commands themselves, each in its own file: what follows the command in, exit code out. They throw UsageError and Failure.
int run_experiment(const Experiment& experiment, const std::vector<std::string>& words);
int run_command(const std::vector<std::string>& words);
int plot_command(const std::vector<std::string>& words);
int report_command(const std::vector<std::string>& words);
int verify_command(const std::vector<std::string>& words);
int reproduce_command(const std::vector<std::string>& words);
int merge_command(const std::vector<std::string>& words);
int status_command(const std::vector<std::string>& words);
int compare_command(const std::vector<std::string>& words);
int export_command(const std::vector<std::string>& words);
int list_command(const std::vector<std::string>& words);
int completion_command(const std::vector<std::string>& words);
int man_command(const std::vector<std::string>& words);

}  // namespace ranklab
