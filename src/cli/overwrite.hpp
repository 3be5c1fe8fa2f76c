// Protects an existing result from being overwritten.
#pragma once

#include <cstdint>
#include <map>

#include "cli/resolve.hpp"
#include "core/record.hpp"

namespace ranklab {

/// Whether a path is one of these files, perhaps by a link.
bool is_one_of(const std::string& path, const std::vector<std::string>& files);

/// Throws UsageError if --out holds a different run or is not a result, unless --force was given. A
/// run with the same config may replace a result. So may a run with more trials, because its first
/// trials are the same. The preset's name is not compared.
void refuse_to_replace(ResolvedRun& run);

/// Throws UsageError if another file that the run writes, such as that of --save, is the file of
/// --out or one that the run reads, or exists already and is not of this run: neither the result
/// nor the journal at --out has the same config. With --force, only the first two are refused.
void refuse_to_replace_with_outputs(ResolvedRun& run);

/// Says on standard error which files of finished trials are missing: they are not written again.
void warn_of_missing_outputs(const ResolvedRun& run,
                             const std::map<std::uint64_t, TrialRecord>& finished);

}  // namespace ranklab
