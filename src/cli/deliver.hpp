// The end of a run: writes the result to --out, prints a summary and determines the exit code.
#pragma once

#include "cli/execute.hpp"
#include "cli/resolve.hpp"

namespace ranklab {

/// The path of the result unless --out is given: results/<preset or command-study>.json, or with
/// .<i>-of-<N>.part in place of .json for a shard.
std::string default_out(const ResolvedRun& run);

/// Writes the result if there is one, removes the journal of a run that was not interrupted, prints
/// the summary and returns the exit code. `journal` may be null. Throws Failure if --out cannot be
/// written.
int deliver(const ResolvedRun& run, Execution& execution, Journal* journal);

}  // namespace ranklab
