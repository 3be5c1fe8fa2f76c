#include "cli/options.hpp"

namespace ranklab {

std::vector<Field> config_fields(CommonOptions& options, const std::vector<std::string>& studies) {
  return {
      choice_field("study", options.study, studies, "", "which study of the command"),
      text_field("preset", options.preset, "a preset of experiments/ (name without .json); `ranklab list` shows them"),
      size_field("seed", options.seed, 0, 0, "", "master seed of the random numbers"),
      size_field("trials", options.trials, 1, 1'000'000, "", "independent repetitions; unless given, the study's own number"),
      choice_field("precision", options.precision, {"f64", "f32"}, "", "arithmetic of the experiment; diagnostics stay f64"),
      size_field("blas-threads", options.blas_threads, 1, 64, "", "BLAS threads inside a trial; they change the last bits"),
  };
}

std::vector<Field> session_fields(CommonOptions& options) {
  return {
      text_field("config", options.config, "a preset file, or an earlier result whose config is replayed"),
      text_field("out", options.out, "where the result goes; - is standard output"),
      size_field("threads", options.threads, 1, 1024, "", "trials run at once"),
      choice_field("progress", options.progress, {"auto", "always", "never"}, "", "progress bar; auto: only on a terminal"),
      switch_field("quiet", options.quiet, "nothing on standard error but errors"),
      switch_field("dry-run", options.dry_run, "print the config and the cost as JSON, run nothing"),
      switch_field("strict", options.strict, "exit 3 when a claim's verdict is `fails`"),
      switch_field("force", options.force, "replace an existing --out that holds another run"),
      switch_field("resume", options.resume, "continue an interrupted run from the journal beside --out"),
      text_field("shard", options.shard, "i/N: only the trials t with t mod N = i - 1, into a part file for `ranklab merge`"),
      one_per_flag(
          text_list_field("sweep", options.sweep, "NAME=64,128 or NAME=1..10: print the command line of every point, run nothing")),
  };
}

}  // namespace ranklab
