// Runs one shard of a run into a part, which is its journal. `ranklab merge` judges the trials.
#pragma once

#include "cli/resolve.hpp"
#include "run/progress.hpp"

namespace ranklab {

/// Runs the trials of run.shard that are not yet in the part run.options().out, and returns the
/// exit code. Throws UsageError if --out exists and neither --resume nor --force is given, if it
/// belongs to a different run, and for flags that need a result.
int run_shard(ResolvedRun& run, const Progress::Look& progress);

}  // namespace ranklab
