// One shard of a run: its trials, and the part file that holds them. While the shard runs, its file
// is a journal with the same format (journal_format.hpp). The last note, with the times of the
// shard, turns the journal into a part.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/record.hpp"

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

/// The content of a part or of the journal of a shard; empty if the file is neither.
class PartFile {
 public:
  /// Throws Failure if the file cannot be read.
  explicit PartFile(std::string path);
  PartFile(PartFile&&) = delete;  // trials_ refers to content_

  const std::string& path() const { return path_; }
  const std::string& header() const { return header_; }
  /// The number of undamaged records of trials.
  std::uint64_t trials() const { return trials_.size(); }
  /// The last note that is followed by trials, written by their session; and the last record if it
  /// is a note. Empty: none.
  const std::string& session_note() const { return session_note_; }
  const std::string& last_note() const { return last_note_; }
  /// True if the file can become a part: it is empty or the beginning of a header.
  bool is_new() const { return is_new_; }
  /// True if some bytes are not a complete record.
  bool damaged() const { return damaged_; }

  /// Adds the trials to `records`, by index. Throws Failure for a trial that does not belong to the
  /// shard of a run of `trials`, or that `records` already has.
  void take(const Shard& shard, std::uint64_t trials,
            std::map<std::uint64_t, TrialRecord>& records) const;

 private:
  std::string path_, content_, header_, session_note_, last_note_;
  std::vector<std::string_view> trials_;
  bool is_new_ = false, damaged_ = false;
};

}  // namespace ranklab
