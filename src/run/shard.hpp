// One shard of a run: its trials. Its file, a part, is its journal.
#pragma once

#include <cstdint>
#include <string>

namespace ranklab {

/// Shard `index` of `count`, both from 1: the trials t with t mod count = index - 1.
struct Shard {
  std::uint64_t index = 1, count = 1;

  bool holds(std::uint64_t trial) const { return trial % count == index - 1; }
  /// The number of trials of this shard in a run of `trials`.
  std::uint64_t trials_of(std::uint64_t trials) const { return (trials + count - index) / count; }
  /// "3/8".
  std::string text() const { return std::to_string(index) + "/" + std::to_string(count); }
};

/// Parses "3/8" to a shard of a run of `trials`. Throws UsageError that starts with `label` and
/// states the allowed values.
Shard parse_shard(const std::string& text, std::uint64_t trials, const std::string& label);

}  // namespace ranklab
