// Protects an existing result from being overwritten.
#pragma once

#include "cli/resolve.hpp"

namespace ranklab {

/// Throws UsageError if --out holds a different run or is not a result, unless --force was given. A
/// run with the same config may replace a result. So may a run with more trials, because its first
/// trials are the same. The preset's name is not compared.
void refuse_to_replace(ResolvedRun& run);

}  // namespace ranklab
