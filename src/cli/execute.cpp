#include "cli/execute.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>

#include "judge/catalog.hpp"
#include "judge/verdicts.hpp"
#include "linalg/blas.hpp"
#include "result/changes.hpp"
#include "result/environment.hpp"
#include "run/interrupt.hpp"
#include "run/pool.hpp"

namespace ranklab {

namespace {

class Stopwatch {
 public:
  Timing timing(double trial_seconds) const {
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start_;
    return {wall.count(), static_cast<double>(std::clock() - cpu_start_) / CLOCKS_PER_SEC,
            trial_seconds};
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::clock_t cpu_start_ = std::clock();
};

Pool::Settings pool_settings(const ResolvedRun& run, const Progress::Look& progress) {
  const CommonOptions& options = run.options();
  return {options.seed, options.trials, options.threads, progress, run.shard};
}

// The result file, if a trial has finished.
void finish(Execution& out, ResolvedRun& run, Result result, const Timing& timing,
            nlohmann::ordered_json environment) {
  ResultFile& file = out.result.emplace();
  file.command = run.experiment->name;
  file.study = run.options().study;
  if (!run.options().preset.empty()) file.preset = run.options().preset;
  file.source = run.texts.source;
  file.config = run.config();
  if (out.signal != 0) file.status = Status::interrupted;
  file.trials = {run.options().trials, out.completed, run.texts.trial};
  file.changed = run.changed();
  // Of the preset, unless it may be wrong about the run; then that of the study.
  if (!changes_more_than_length(file)) file.title = run.texts.title;
  file.see = run.texts.see;
  file.finding = run.texts.finding;
  file.environment = std::move(environment);
  if (!run.input_checksums().empty()) file.environment["inputs"] = run.input_checksums();
  file.timing = timing;
  if (!run.trials_of.is_null()) file.environment["trials_of"] = run.trials_of;
  add_result(file, std::move(result));
  if (!run.trials_of.is_null())
    file.notes.push_back(
        say("{}The trials are of another build of this version, {}: only what is "
            "judged and shown is of this one. This is no reference.",
            caution, run.trials_of.value("git", "")));
  for (const std::string& note : run.notes) {
    if (std::ranges::find(file.notes, note) == file.notes.end()) file.notes.push_back(note);
  }
  const OwnReport& report = run.texts.report;
  add_own_quantities(report, file, out.mistakes);
  add_own(file, judge_own(run.own, {{&file, ""}}, out.mistakes));
  add_own_panels(report, file, out.mistakes);
  add_own_notes(report, file, out.mistakes);
  if (!report.empty()) file.report = to_json_value(report);
  // With a mistake in a statement, `ranklab judge` can judge what was meant.
  file.keeps_trials = run.options().keep_trials || !out.mistakes.empty();
  if (!file.keeps_trials) drop_unused_trials(file);
  file.non_finite = count_non_finite(file);
  withhold_verdicts(file);
  for (const auto& [preset, claims] : run.texts.judged_in) refer_verdicts(file, preset, claims);
  for (Claim& claim : file.claims) {
    if (claim.kind != Kind::own) require_in_catalog(claim);
    claim.paper = paper_of_statement(claim.statement_id);
    claim.undecided = claim.undecided && claim.verdict == Verdict::not_applicable;
  }
}

}  // namespace

Execution execute(ResolvedRun& run, Journal* journal, const Progress::Look& progress,
                  const std::vector<std::string>& argv) {
  const CommonOptions& options = run.options();
  const Stopwatch watch;
  set_blas_threads(options.blas_threads);
  run.input_checksums();  // before the files are read, and perhaps changed
  const InterruptGuard guard;
  Pool pool(pool_settings(run, progress), journal);
  const Records records = pool.run(run.study().work());

  Execution out;
  out.completed = records.size();
  // A signal after the last trial has no effect.
  out.signal = out.completed < options.trials ? interrupt_signal() : 0;
  if (records.empty()) return out;
  Result result = run.study().report(records);
  finish(out, run, std::move(result), watch.timing(pool.trial_seconds()),
         environment_json(options.threads, argv));
  return out;
}

ShardExecution execute_shard(ResolvedRun& run, Journal& journal, const Progress::Look& progress) {
  const Stopwatch watch;
  set_blas_threads(run.options().blas_threads);
  const InterruptGuard guard;
  Pool pool(pool_settings(run, progress), &journal);
  pool.run(run.study().work());
  const bool is_complete = pool.completed() == run.shard.trials_of(run.options().trials);
  return {pool.completed(), is_complete ? 0 : interrupt_signal(),
          watch.timing(pool.trial_seconds())};
}

Execution execute_finished(ResolvedRun& run, const Records& records, const Timing& shards,
                           std::chrono::steady_clock::time_point start,
                           nlohmann::ordered_json environment) {
  set_blas_threads(run.options().blas_threads);
  Execution out;
  out.completed = records.size();
  const Result result = run.study().report(records);
  const std::chrono::duration<double> merge_time = std::chrono::steady_clock::now() - start;
  finish(out, run, result, {shards.wall + merge_time.count(), shards.cpu, shards.trials},
         std::move(environment));
  return out;
}

}  // namespace ranklab
