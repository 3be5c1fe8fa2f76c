// The bytes of a journal: a line with the version of the format, then records. The first record is
// the header, a text of lines `section name: value` that identifies the run and its shard. Trials
// and notes follow in the order in which they were added. A record consists of its length, its
// checksum and its bytes. The format is not portable: only the program that wrote the bytes reads
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/record.hpp"

namespace ranklab {

/// A record of these bytes.
std::string framed(std::string_view bytes);
/// The beginning of a journal: the version of the format and the header.
std::string journal_start(std::string_view header);
/// The bytes of the record of a trial, and of a note: a text between the trials, such as the times
/// of a session.
std::string encode_trial(std::uint64_t trial, const TrialRecord& record);
std::string encode_note(std::string_view text);
/// The record that encode_trial() encoded.
TrialRecord decode_trial(std::string_view bytes);

/// What a journal holds before its first incomplete or damaged record.
struct JournalContent {
  std::string header;  // empty if it is incomplete or damaged itself
  std::map<std::uint64_t, TrialRecord> trials;
  std::vector<std::string> notes;
  std::size_t end = 0;    // the position after the last undamaged record
  bool has_rest = false;  // there are bytes after it

  /// What cannot be read, for a message that begins with the name of the file; empty: nothing.
  std::string loss() const;
};

/// Throws Failure that names `path` if the content is not that of a journal of this version.
JournalContent parse_journal(std::string_view content, const std::string& path);

/// The first line in which two headers differ: "seed is 1 there, 2 here", or "the parameters
/// differ" if the headers do not have the same names.
std::string header_difference(const std::string& there, const std::string& here);

}  // namespace ranklab
