// A result is never lost in silence.
#pragma once

#include "cli/resolve.hpp"

namespace ranklab {

/// Throws UsageError where --out holds another run, or is no result at all, unless --force was given. A run of the same config
/// may replace it, also one of more trials: its first ones are the same. The preset's name is not compared.
void refuse_to_replace(ResolvedRun& run);

}  // namespace ranklab
