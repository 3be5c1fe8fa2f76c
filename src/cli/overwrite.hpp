// Protects an existing result from being overwritten.
#pragma once

#include "cli/resolve.hpp"

namespace ranklab {

/// Throws UsageError if --out holds a different run or is not a result, unless --force was given. A
/// run with the same config may replace a result. So may a run with more trials, because its first
/// trials are the same. The preset's name is not compared.
void refuse_to_replace(ResolvedRun& run);

/// Throws UsageError if a further file of the run, such as that of --save, is the file of --out, or
/// if --save would replace a file that is not .safetensors.
void refuse_to_replace_with_outputs(ResolvedRun& run);

}  // namespace ranklab
