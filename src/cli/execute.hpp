// Runs a resolved study and builds its result document.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/resolve.hpp"
#include "report/result.hpp"
#include "run/journal.hpp"
#include "run/progress.hpp"

namespace ranklab {

struct Execution {
  nlohmann::ordered_json document;  // null if no trial finished
  std::vector<Claim> claims;        // those of the document
  std::uint64_t completed = 0;
  int signal = 0;  // the signal that interrupted the run, or 0
  bool any_claim_fails = false, any_gate_fails = false;
  double wall_seconds = 0;
};

/// Times of a run in seconds: wall-clock time, CPU time of all threads, and time inside trials
/// summed over threads.
struct Timing {
  double wall = 0, cpu = 0, trials = 0;
};

/// Trials that several runs share: the first run computes them, the others reuse them.
struct SharedTrials {
  std::vector<TrialRecord> records;
  double trial_seconds = 0;
};

/// Runs the trials and judges the claims. `journal` and `shared` may be null. `argv` goes into the
/// result's environment block.
Execution execute(ResolvedRun& run, Journal* journal, const Progress::Look& progress,
                  const std::vector<std::string>& argv, SharedTrials* shared = nullptr);

/// The outcome of one shard.
struct ShardExecution {
  std::uint64_t completed = 0;
  int signal = 0;  // the signal that interrupted the shard, or 0
  Timing timing;
};
/// Runs the trials of run.shard and writes them to the journal.
ShardExecution execute_shard(ResolvedRun& run, Journal& journal, const Progress::Look& progress);

/// Judges all trials of a run that ran in shards. `shards` holds the times of the shards; its wall
/// time is that of the longest shard. `start` is when the merge began.
Execution execute_finished(ResolvedRun& run, std::vector<TrialRecord> records, const Timing& shards,
                           std::chrono::steady_clock::time_point start,
                           nlohmann::ordered_json environment);

}  // namespace ranklab
