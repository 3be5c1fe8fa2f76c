#include "cli/options.hpp"

namespace ranklab {

std::vector<Field> config_fields(CommonOptions& options, const std::vector<std::string>& studies) {
  return {
      choice_field("study", options.study, studies, "", "study to run"),
      text_field("preset", options.preset,
                 "preset of experiments/ (name without .json); `ranklab list` shows all"),
      size_field("seed", options.seed, 0, 0, "", "master random seed"),
      size_field("trials", options.trials, 1, 1'000'000, "",
                 "number of independent repetitions (default: the study's)"),
      size_field("blas-threads", options.blas_threads, 1, 64, "",
                 "BLAS threads per trial; changes the last bits of results"),
  };
}

std::vector<Field> session_fields(CommonOptions& options) {
  return {
      text_field("config", options.config, "preset file or earlier result whose config is used"),
      text_field("out", options.out, "path of the result; - is standard output"),
      size_field("threads", options.threads, 1, 1024, "",
                 "threads of the run; they run trials, and parts of a trial if trials are few"),
      choice_field("progress", options.progress, {"auto", "always", "never"}, "",
                   "progress bar; auto: only on a terminal"),
      switch_field("quiet", options.quiet, "print only errors on standard error"),
      switch_field("dry-run", options.dry_run,
                   "print the config and the memory as JSON; run nothing"),
      switch_field(
          "strict", options.strict,
          "exit with status 3 if a claim fails, except slips as printed and what is published as "
          "failing"),
      switch_field(
          "expect", options.expect,
          "compare the verdicts with the published ones of the preset in one line; exit with "
          "status 3 if one contradicts"),
      switch_field("force", options.force, "replace --out even if it holds another run"),
      switch_field("resume", options.resume,
                   "continue an interrupted run from the journal next to --out"),
      switch_field("reuse-trials", options.reuse_trials,
                   "keep the finished trials next to --out, and take those of another build of "
                   "this version; for an edit of what a study judges or shows"),
      text_field(
          "shard", options.shard,
          "i/N: run only trials t with t mod N = i - 1; write a part file for `ranklab merge`"),
      one_per_flag(text_list_field("claim", options.claim,
                                   "statement of your own, which the run judges, such as 'mean "
                                   "last(gd.loss) <= 1'; `ranklab help claim`")),
      switch_field("keep-trials", options.keep_trials, "store the curves of every trial"),
      choice_field(
          "claims", options.claims, {"brief", "all"}, "",
          "claims that the terminal lists; brief: of more than 20, those that fail, and the "
          "counts of each statement"),
  };
}

}  // namespace ranklab
