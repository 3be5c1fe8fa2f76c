#include "cli/commands.hpp"

#include "experiments/one_step_compare/one_step_compare.hpp"
#include "experiments/random_features/random_features.hpp"
#include "experiments/rank_collapse/rank_collapse.hpp"
#include "experiments/spike_plus_bulk/commands.hpp"

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

const std::vector<Utility>& utilities() {
  static const std::vector<Utility> list = {
      {"advise", "FOLDER|FILE...", "print which layers of your model to train with Muon",
       advise_command},
      {"run", "PRESET [flags]", "run a preset", run_command},
      {"plot", "RESULT.json", "draw the figure of a result as SVG, PNG or PDF", plot_command},
      {"report", "RESULT.json...",
       "write one self-contained HTML page: figures, claims, provenance", report_command},
      {"verify", "RESULT.json", "rerun the config of a result and compare the results",
       verify_command},
      {"reproduce", "[PRESET...]",
       "run all presets, or the named ones, and write results, figures and a report",
       reproduce_command},
      {"merge", "PART...", "combine the parts of a --shard run into one result", merge_command},
      {"status", "PART...", "show the progress of the shards of a run", status_command},
      {"compare", "A.json B.json", "compare claims, scalars and series of two results side by side",
       compare_command},
      {"export", "RESULT.json...", "write scalars, series, trials or claims as tidy CSV",
       export_command},
      {"papers", "[PAPER] [STATEMENT]",
       "show what each paper says, statement by statement, with its verdict", papers_command},
      {"list", "", "list every preset: name, command, figure, expected time, summary",
       list_command},
      {"man", "", "print the man page", man_command},
  };
  return list;
}

}  // namespace ranklab
