// The end of a run: its result into --out, what it found on standard error, its exit code.
#pragma once

#include "cli/execute.hpp"
#include "cli/resolve.hpp"

namespace ranklab {

/// Where the run goes unless --out says otherwise: results/<preset or command-study>.json, or .<i>-of-<N>.part of a shard.
std::string default_out(const ResolvedRun& run);

/// Writes the result where there is one, removes the journal (which may be null) of a run that was not interrupted, and returns
/// the exit code. Throws Failure where --out cannot be written.
int deliver(const ResolvedRun& run, Execution& execution, Journal* journal);

}  // namespace ranklab
