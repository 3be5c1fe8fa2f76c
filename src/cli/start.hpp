// The start of a run: its folder, and what standard error says before the first trial.
#pragma once

#include "cli/resolve.hpp"
#include "run/journal.hpp"

namespace ranklab {

/// Throws Failure if --out cannot be written. Creates its folder, and says so unless it is that of
/// the default path.
void prepare_folder(const ResolvedRun& run);

/// Says which flags have several values. Here and below: unless --quiet.
void warn_of_repeated_flags(const std::vector<std::string>& repeated, bool quiet);

/// Says the same, whether the threads need more cores than there are, and whether trials of an
/// interrupted run were discarded or damaged. `journal` may be null.
void warn_before_trials(const ResolvedRun& run, const Journal* journal);

}  // namespace ranklab
