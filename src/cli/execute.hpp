// Runs a resolved study and makes the document of its result.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/resolve.hpp"
#include "run/journal.hpp"
#include "run/progress.hpp"

namespace ranklab {

struct Execution {
  nlohmann::ordered_json document;  // null where no trial was finished
  std::uint64_t completed = 0;
  int signal = 0;  // that interrupted the run, or 0
  bool a_claim_fails = false, a_gate_fails = false;
  double wall_seconds = 0;
};

/// What a run took, in seconds: from its beginning to its end, of all its threads, and inside its trials.
struct Timing {
  double wall = 0, cpu = 0, trials = 0;
};

/// The identity of a run, its program in the first line: --resume continues a journal only where every line of it agrees.
std::string journal_identity(ResolvedRun& run);

/// Trials that several runs have in common: done by the first, taken by the others.
struct SharedTrials {
  std::vector<TrialRecord> records;
  double trial_seconds = 0;
};

/// `journal` and `shared` may be null. `argv` goes into the environment block.
Execution execute(ResolvedRun& run, Journal* journal, const Progress::Look& progress, const std::vector<std::string>& argv,
                  SharedTrials* shared = nullptr);

/// The trials of run.shard, into the journal.
struct ShardExecution {
  std::uint64_t completed = 0;
  int signal = 0;  // that interrupted it, or 0
  Timing timing;
};
ShardExecution execute_shard(ResolvedRun& run, Journal& journal, const Progress::Look& progress);

/// Judges trials that were done elsewhere, all of them. `start` is when the merge began; `elsewhere` is what the trials took, its
/// wall time that of the longest part.
Execution execute_finished(ResolvedRun& run, std::vector<TrialRecord> records, const Timing& elsewhere,
                           std::chrono::steady_clock::time_point start, nlohmann::ordered_json environment);

}  // namespace ranklab
