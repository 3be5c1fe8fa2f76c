#include "cli/execute.hpp"

#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/presets.hpp"
#include "linalg/blas.hpp"
#include "report/changes.hpp"
#include "report/environment.hpp"
#include "report/result_json.hpp"
#include "report/verdicts.hpp"
#include "run/interrupt.hpp"
#include "run/pool.hpp"

namespace ranklab {

namespace {

// Runs the trials in the pool and stores them in `shared`, or returns the trials that an earlier
// run has stored there.
class SharingRunner : public Runner {
 public:
  SharingRunner(Pool& pool, SharedTrials& shared) : pool_(pool), shared_(shared) {}
  std::uint64_t trials() const override { return pool_.trials(); }
  bool single_precision() const override { return pool_.single_precision(); }
  std::vector<TrialRecord> run(const std::function<TrialRecord(Trial&)>& body) override {
    return run_once([&] { return pool_.run(body); });
  }
  std::vector<TrialRecord> run_batches(
      std::uint64_t size,
      const std::function<std::vector<TrialRecord>(std::vector<Trial>&)>& body) override {
    return run_once([&] { return pool_.run_batches(size, body); });
  }

 private:
  std::vector<TrialRecord> run_once(const std::function<std::vector<TrialRecord>()>& trials) {
    if (shared_.records.empty()) shared_ = {trials(), pool_.trial_seconds()};
    return shared_.records;
  }

  Pool& pool_;
  SharedTrials& shared_;
};

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
  const CommonOptions& options = run.options;
  return {options.seed, options.trials, options.threads, options.precision == "f32",
          progress,     run.shard};
}

// Builds the result document from the completed trials.
void finish(Execution& out, ResolvedRun& run, Result result, const Timing& timing,
            nlohmann::ordered_json environment) {
  out.wall_seconds = timing.wall;
  if (out.completed == 0) return;
  ResultFile file;
  file.command = run.experiment->name;
  file.study = run.options.study;
  file.preset = run.options.preset;
  file.title = run.title;
  file.paper = run.paper;
  file.figure = run.figure;
  file.see = run.see;
  file.finding = &run.finding;
  file.trial_unit = run.trial_unit;
  const nlohmann::ordered_json changed = run.changed();
  file.changed = &changed;
  withhold_verdicts(result.claims, changed, run.trial_unit);
  for (const JudgedElsewhere& other : judged_elsewhere(run.options.preset)) {
    refer_verdicts(result.claims, changed, other.preset, other.claims);
  }
  file.trials_requested = run.options.trials;
  file.trials_completed = out.completed;
  file.interrupted = out.signal != 0;
  file.wall_seconds = timing.wall;
  file.cpu_seconds = timing.cpu;
  file.trial_seconds = timing.trials;
  out.any_gate_fails = !result.failed_gates.empty();
  for (const Claim& claim : result.claims) {
    require_in_catalog(claim);
    out.any_claim_fails |= claim.verdict == Verdict::fails;
  }
  out.document = result_json(file, result, run.config(), std::move(environment));
  out.claims = std::move(result.claims);
}

}  // namespace

Execution execute(ResolvedRun& run, Journal* journal, const Progress::Look& progress,
                  const std::vector<std::string>& argv, SharedTrials* shared) {
  const CommonOptions& options = run.options;
  const Stopwatch watch;
  set_blas_threads(options.blas_threads);
  const InterruptGuard guard;
  Pool pool(pool_settings(run, progress), journal);
  std::optional<SharingRunner> sharing;
  if (shared != nullptr) sharing.emplace(pool, *shared);
  Result result = run.study->run(sharing ? static_cast<Runner&>(*sharing) : pool);

  Execution out;
  out.completed = shared != nullptr ? shared->records.size() : pool.completed();
  // A signal after the last trial has no effect.
  out.signal = out.completed < options.trials ? interrupt_signal() : 0;
  finish(out, run, std::move(result),
         watch.timing(shared != nullptr ? shared->trial_seconds : pool.trial_seconds()),
         environment_json(options.threads, argv));
  return out;
}

ShardExecution execute_shard(ResolvedRun& run, Journal& journal, const Progress::Look& progress) {
  const Stopwatch watch;
  set_blas_threads(run.options.blas_threads);
  const InterruptGuard guard;
  Pool pool(pool_settings(run, progress), &journal);
  DiscardingRunner trials(pool);
  run.study->run(trials);
  const bool is_complete = pool.completed() == run.shard.trials_of(run.options.trials);
  return {pool.completed(), is_complete ? 0 : interrupt_signal(),
          watch.timing(pool.trial_seconds())};
}

Execution execute_finished(ResolvedRun& run, std::vector<TrialRecord> records, const Timing& shards,
                           std::chrono::steady_clock::time_point start,
                           nlohmann::ordered_json environment) {
  set_blas_threads(run.options.blas_threads);
  Execution out;
  out.completed = records.size();
  FinishedTrials trials(std::move(records), run.options.precision == "f32");
  const Result result = run.study->run(trials);
  const std::chrono::duration<double> merge_time = std::chrono::steady_clock::now() - start;
  finish(out, run, result, {shards.wall + merge_time.count(), shards.cpu, shards.trials},
         std::move(environment));
  return out;
}

}  // namespace ranklab
