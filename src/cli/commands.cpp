#include "cli/commands.hpp"

#include <cstdio>

#include "cli/help.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "experiments/one_step_compare/one_step_compare.hpp"
#include "experiments/random_features/random_features.hpp"
#include "experiments/rank_collapse/rank_collapse.hpp"
#include "experiments/spike_plus_bulk/commands.hpp"
#include "report/environment.hpp"

namespace ranklab {

const std::vector<Experiment>& experiments() {
  static const std::vector<Experiment> list = {
      rank_collapse_experiment(),   random_features_experiment(),  spiked_model_experiment(),
      teacher_student_experiment(), one_step_compare_experiment(),
  };
  return list;
}

const std::vector<Utility>& utilities() {
  static const std::vector<Utility> list = {
      {"plot", "RESULT.json", "draw the figure that a result describes, as SVG, PNG or PDF", plot_command},
      {"report", "RESULT.json...", "one self-contained HTML page: figures, claims, provenance", report_command},
      {"verify", "RESULT.json", "run a result's config again and compare", verify_command},
      {"list", "", "every preset: name, command, figure, expected time, summary", list_command},
  };
  return list;
}

int run_command_line(const std::vector<std::string>& argv) {
  if (argv.empty()) throw UsageError("no command; `ranklab --help` lists them");
  const std::string& command = argv[0];
  const std::vector<std::string> words(argv.begin() + 1, argv.end());
  if (command == "--help" || command == "-h" || command == "help") {
    std::fputs(program_help().c_str(), stdout);
    return 0;
  }
  if (command == "--version" || command == "-V") {
    std::fputs(version_text().c_str(), stdout);
    return 0;
  }
  for (const Experiment& experiment : experiments()) {
    if (experiment.name == command) return run_experiment(experiment, words);
  }
  for (const Utility& utility : utilities()) {
    if (utility.name == command) return utility.run(words);
  }
  std::vector<std::string> names = {"--help", "--version"};
  for (const Experiment& experiment : experiments()) names.push_back(experiment.name);
  for (const Utility& utility : utilities()) names.push_back(utility.name);
  throw UsageError("unknown command '" + command + "'" + did_you_mean(command, names, "; `ranklab --help` lists them"));
}

}  // namespace ranklab
