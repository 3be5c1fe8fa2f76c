#include "cli/commands.hpp"

#include <cstdio>
#include <filesystem>

#include "cli/help.hpp"
#include "cli/output_names.hpp"
#include "cli/presets.hpp"
#include "cli/start.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "experiments/one_step_compare/one_step_compare.hpp"
#include "experiments/random_features/random_features.hpp"
#include "experiments/rank_collapse/rank_collapse.hpp"
#include "experiments/spike_plus_bulk/commands.hpp"
#include "ranks/ranks.hpp"

namespace ranklab {

const std::vector<Experiment>& experiments() {
  static const std::vector<Experiment> list = {
      rank_collapse_experiment(),   random_features_experiment(),  spiked_model_experiment(),
      teacher_student_experiment(), one_step_compare_experiment(),
  };
  return list;
}

const Experiment* find_experiment(const std::string& name) {
  for (const Experiment& experiment : experiments()) {
    if (experiment.name == name) return &experiment;
  }
  return nullptr;
}

const Experiment& experiment_of(const std::string& command, const std::string& file) {
  const Experiment* found = find_experiment(command);
  if (found != nullptr) return *found;
  std::vector<std::string> names;
  for (const Experiment& experiment : experiments()) names.push_back(experiment.name);
  throw UsageError(printable(file) + ": command: '" + printable_key(command) +
                   "' is not allowed; allowed: " + joined(names, "|") +
                   did_you_mean(command, names));
}

const Experiment& writer_of(const std::string& command, const std::string& file) {
  if (command == ranks_experiment().name) return ranks_experiment();
  const Experiment* found = find_experiment(command);
  if (found != nullptr) return *found;
  throw Failure(printable(file) + ": unknown command '" + printable_key(command) + "'");
}

std::vector<Utility> utilities() {
  return {ranks_command(),  run_command(),       plot_command(),  report_command(),
          verify_command(), reproduce_command(), merge_command(), compare_command(),
          export_command(), papers_command(),    judge_command(), numbers_command(),
          list_command(),   man_command()};
}

namespace {

void set_flags(const Utility& utility, const Arguments& arguments) {
  for (const auto& [name, value] : arguments.flags) {
    for (const Field& field : utility.flags) {
      if (field.name != name) continue;
      // Every text flag of a utility is a file name, which cannot be empty.
      if (value.empty())
        throw UsageError("--" + name + ": '' is not allowed; allowed: " + field.domain_text());
      field.set(field.read_flag(value, "--" + name));
    }
  }
}

void check_positional(const Utility& utility, const std::vector<std::string>& given) {
  const Positional& takes = utility.takes;
  if (given.size() >= takes.least && given.size() <= takes.most) return;
  if (takes.most == 0)
    throw UsageError("unexpected argument '" + printable_key(given[0]) + "'; " + utility.name +
                     " takes none");
  throw UsageError(utility.name + " takes " + takes.what + ", " +
                   (given.empty() ? "none" : std::to_string(given.size())) + " given");
}

// `plot a.json f.pdf`, which names the output without its flag.
void refuse_outputs_without_flag(const Utility& utility, const std::vector<std::string>& given) {
  for (const std::string& word : given) {
    if (names_output_of(utility.name, word))
      throw UsageError(utility.name + " takes " + utility.takes.what + ", not '" +
                       printable_key(word) + "'; the file to write is --out " +
                       printable_key(word));
  }
}

void check_results(const Utility& utility, const std::vector<std::string>& given) {
  for (const std::string& path : given) {
    std::error_code error;
    if (is_preset(path) && !std::filesystem::exists(path, error))
      throw UsageError(utility.name + " takes results, and " + path +
                       " is a preset; `ranklab run " + path + "` writes results/" + path + ".json");
    const bool takes_folders = utility.name == "report" || utility.name == "merge";
    if (!takes_folders && std::filesystem::is_directory(path, error))
      throw UsageError(utility.name + " takes " + utility.takes.what + ", and " +
                       printable_key(path) + " is a folder" +
                       (utility.takes.most == 1
                            ? "; `for file in " + printable_key(path) + "/*.json; do ranklab " +
                                  utility.name + " $file; done` takes each in it"
                            : "; " + printable_key(path) + "/*.json names the results in it"));
  }
}

}  // namespace

int run_utility(const Utility& utility, const std::vector<std::string>& words) {
  Arguments arguments;
  if (!utility.passes_words_on) {
    std::vector<FlagShape> shapes;
    for (const Field& field : utility.flags) shapes.push_back(shape_of(field));
    arguments = parse_arguments(words, shapes, Unknown::refused,
                                utility.name + (utility.usage.empty() ? "" : " ") + utility.usage);
    if (arguments.help) {
      std::fputs(utility_help(utility).c_str(), stdout);
      return 0;
    }
    set_flags(utility, arguments);
    refuse_outputs_without_flag(utility, arguments.positional);
    check_positional(utility, arguments.positional);
    if (utility.usage.find("RESULT") != std::string::npos || utility.name == "compare")
      check_results(utility, arguments.positional);
  }
  arguments.words = words;
  const int exit_code = utility.run(arguments);
  const std::string* quiet = arguments.find("quiet");
  warn_of_repeated_flags(arguments.repeated,
                         quiet != nullptr && (*quiet == "on" || *quiet == "true"));
  return exit_code;
}

}  // namespace ranklab
