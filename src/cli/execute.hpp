// Runs a resolved study and builds its result document.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/resolve.hpp"
#include "result/result_file.hpp"
#include "run/journal.hpp"
#include "run/progress.hpp"

namespace ranklab {

struct Execution {
  std::optional<ResultFile> result;  // none if no trial finished
  std::uint64_t completed = 0;
  int signal = 0;                          // the signal that interrupted the run, or 0
  std::vector<std::string> mistakes = {};  // in statements of one's own that do not fit the run
};

/// Runs the trials and judges the claims. `journal` may be null. `argv` goes into the result's
/// environment block.
Execution execute(ResolvedRun& run, Journal* journal, const Progress::Look& progress,
                  const std::vector<std::string>& argv);

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
Execution execute_finished(ResolvedRun& run, const Records& records, const Timing& shards,
                           std::chrono::steady_clock::time_point start,
                           nlohmann::ordered_json environment);

}  // namespace ranklab
