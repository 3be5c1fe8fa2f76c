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
      {"run", "PRESET [flags]", "run a preset; finds its command", run_command},
      {"plot", "RESULT.json", "draw the figure that a result describes, as SVG, PNG or PDF", plot_command},
      {"report", "RESULT.json...", "one self-contained HTML page: figures, claims, provenance", report_command},
      {"verify", "RESULT.json", "run a result's config again and compare", verify_command},
      {"reproduce", "[PRESET...]", "every preset, or those named: results, pictures and the page, what is done is kept",
       reproduce_command},
      {"merge", "PART...", "one result from the parts of a run with --shard", merge_command},
      {"status", "PART...", "how far the shards of a run are", status_command},
      {"compare", "A.json B.json", "claims, scalars and series of two results side by side", compare_command},
      {"export", "RESULT.json...", "scalars, series, trials or claims as tidy CSV", export_command},
      {"list", "", "every preset: name, command, figure, expected time, summary", list_command},
      {"completion", "bash", "completion for the shell, generated from these commands and their flags", completion_command},
      {"man", "", "the man page, generated likewise", man_command},
  };
  return list;
}

}  // namespace ranklab
