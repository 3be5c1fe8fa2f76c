// One shard of a run: its trials go into a part file, `ranklab merge` judges them.
#pragma once

#include "cli/resolve.hpp"
#include "run/journal.hpp"
#include "run/progress.hpp"

namespace ranklab {

/// Runs the trials of run.shard into the part run.options.out, and returns the exit code. With --resume a whole part of the same
/// shard is left as it is, with nothing run. Throws UsageError for another file there, and for flags that need a result.
int run_shard(ResolvedRun& run, const Progress::Look& progress);

/// Says on standard error that an interrupted run's trials were discarded, where they were.
void tell_of_discarded(const Journal& journal);

}  // namespace ranklab
