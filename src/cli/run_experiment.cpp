// An experiment command: parse, resolve, check, run, report.

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/check_report.hpp"
#include "cli/commands.hpp"
#include "cli/deliver.hpp"
#include "cli/execute.hpp"
#include "cli/expect.hpp"
#include "cli/help.hpp"
#include "cli/output_names.hpp"
#include "cli/overwrite.hpp"
#include "cli/run_identity.hpp"
#include "cli/run_shard.hpp"
#include "cli/start.hpp"
#include "cli/terminal.hpp"
#include "core/error.hpp"
#include "core/machine.hpp"
#include "core/text.hpp"
#include "io/atomic_file.hpp"
#include "linalg/blas.hpp"
#include "result/environment.hpp"
#include "result/result_json.hpp"

namespace ranklab {
namespace {

void print_dry_run(ResolvedRun& run) {
  const double bytes = memory_estimate(run, run.options().threads);
  nlohmann::ordered_json changed = nlohmann::ordered_json::array();
  for (const Change& change : run.changed())
    changed.push_back({{"name", change.name}, {"preset", change.preset}, {"run", change.run}});
  const nlohmann::ordered_json plan = {
      {"command", run.experiment->name},
      {"study", run.options().study},
      {"out", run.options().out},
      {"config", run.config()},
      {"changed", changed},
      {"threads", run.options().threads},
      {"estimate",
       {{"memory_bytes", bytes},
        {"memory_available_bytes", available_memory()},
        {"fits", bytes <= available_memory()}}},
      {"notes", run.notes},
  };
  std::fputs(printed_json(plan).c_str(), stdout);
}

}  // namespace

namespace {

// `read` is the preset of `ranklab run PRESET`.
[[noreturn]] void refuse_argument(const RunRequest& request, const std::optional<Preset>& read) {
  const Arguments& given = request.flags;
  const std::string word = given.positional[0];
  std::string hint = "a flag starts with --";
  if (!given.list_with_commas.empty())
    hint = "lists have commas: " + printable_key(given.list_with_commas);
  else if (read && is_preset(word))
    hint = "run takes one preset; `ranklab reproduce " + read->name + " " + word + "` runs several";
  throw UsageError("unexpected argument '" + printable_key(word) + "'; " + hint);
}

}  // namespace

int run_experiment(const Experiment& experiment, const std::vector<std::string>& words,
                   const std::optional<Preset>& read) {
  const Arguments common = parse_arguments(words, common_flag_shapes(experiment), Unknown::kept);
  if (common.help) {
    const std::optional<Preset> preset = preset_of(experiment, common, read);
    std::fputs(experiment_help(experiment, common, preset).c_str(), stdout);
    return 0;
  }
  for (const Inquiry& inquiry : experiment.inquiries) {
    const std::string* file = common.find(inquiry.flag);
    if (file == nullptr) continue;
    if (common.flags.size() + common.positional.size() > 1)
      throw UsageError("--" + inquiry.flag + " runs nothing and takes no other flags or arguments");
    std::fputs(inquiry.answer(*file).c_str(), stdout);
    return 0;
  }
  const RunRequest request = read_request(experiment, common, read);
  if (!request.flags.positional.empty()) refuse_argument(request, read);
  if (const std::string* out = request.flags.find("out"); out != nullptr && out->empty())
    throw UsageError("--out: '' is not allowed; allowed: a file, or - for standard output");
  ResolvedRun run = resolve(experiment, request);
  if (run.options().out.empty()) run.options().out = default_out(run);
  std::vector<std::string> argv = {"ranklab", experiment.name};
  argv.insert(argv.end(), words.begin(), words.end());
  return run_resolved(run, argv);
}

int run_resolved(ResolvedRun& run, const std::vector<std::string>& argv) {
  const CommonOptions& options = run.options();
  require_published(run);
  check_report(run);
  for (const std::string flag :
       {options.resume ? "--resume" : "", options.reuse_trials ? "--reuse-trials" : ""}) {
    if (!flag.empty() && options.force)
      throw UsageError(flag + " and --force contradict each other: " + flag +
                       " keeps the finished trials of an earlier run, --force discards them; give "
                       "one of the two");
  }
  if (options.reuse_trials && !options.shard.empty())
    throw UsageError(
        "--reuse-trials: a shard keeps its trials in its part; `ranklab merge` judges "
        "them with the program that ran them");
  require_fitting_name("the run", options.out);
  if (options.dry_run) {
    warn_of_repeated_flags(run.repeated, options.quiet);
    print_dry_run(run);
    return 0;
  }
  check_memory(run);  // before the checksums of large files
  refuse_to_replace_with_outputs(run);
  const bool show_progress =
      !options.quiet && (options.progress == "always" ||
                         (options.progress == "auto" && ::isatty(STDERR_FILENO) != 0));
  if (!options.shard.empty()) return run_shard(run, {show_progress});

  const bool to_file = !options.out.empty() && options.out != "-",
             keeps_journal = to_file && !is_special_file(options.out);
  if ((options.resume || options.reuse_trials) && !keeps_journal)
    throw UsageError(std::string(options.resume ? "--resume" : "--reuse-trials") +
                     " needs an --out file, because the journal is stored next to it");
  std::error_code error;
  // When resuming, the journal itself checks that it belongs to this run.
  const bool keeps_trials = options.resume || options.reuse_trials,
             resumes =
                 keeps_trials && std::filesystem::exists(Journal::path_for(options.out), error);
  if (keeps_journal && !resumes) refuse_to_replace(run);
  if (to_file) prepare_folder(run);
  std::optional<Journal> journal;
  if (keeps_journal) {
    using Earlier = Journal::Earlier;
    const std::string path = Journal::path_for(options.out), identity = run_identity(run),
                      of_trials =
                          options.reuse_trials ? identity_of_trials(path, identity) : identity;
    if (program_line(of_trials) != program_line(identity)) run.trials_of = build_of(of_trials);
    journal.emplace(path, of_trials,
                    keeps_trials    ? Earlier::resumed
                    : options.force ? Earlier::discarded
                                    : Earlier::same_discarded);
    // Another run may have written its result before the journal was locked.
    if (journal->finished().empty()) refuse_to_replace(run);
    warn_of_missing_outputs(run, journal->finished());
  }
  warn_before_trials(run, journal ? &*journal : nullptr);
  Execution execution = execute(run, journal ? &*journal : nullptr, {show_progress}, argv);
  return deliver(run, execution, journal ? &*journal : nullptr);
}

}  // namespace ranklab
