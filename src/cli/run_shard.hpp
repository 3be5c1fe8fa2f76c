// Runs one shard of a run into a part file. `ranklab merge` judges the trials.
#pragma once

#include "cli/resolve.hpp"
#include "run/journal.hpp"
#include "run/progress.hpp"

namespace ranklab {

/// Runs the trials of run.shard, writes them to the part run.options.out and returns the exit code.
/// With --resume, a complete part of the same shard is kept and nothing is run. Throws UsageError
/// if
/// --out holds another file, and for flags that need a result.
int run_shard(ResolvedRun& run, const Progress::Look& progress);

/// Warns on standard error if trials of an interrupted run were discarded or damaged.
void warn_of_lost_trials(const Journal& journal);

}  // namespace ranklab
