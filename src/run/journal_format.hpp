// The bytes of journals and parts: a header record (text that identifies the run), then trials and
// notes in the order in which they were added. A record consists of a mark, its length, its
// checksum and its bytes. Damaged bytes between records are skipped: the next record begins at a
// mark. The format is not portable: only the program that wrote the bytes reads them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/record.hpp"

namespace ranklab {

/// A record: mark, length, checksum, `bytes`.
std::string framed(std::string_view bytes);

/// The records of a journal or a part.
struct RecordsRead {
  std::vector<std::string_view> records;  // refer to the content
  std::size_t end = 0;                    // position after the last record
  bool has_header = false;                // the first record is at the beginning
  bool has_gap = false;                   // damaged bytes were skipped before the last record
};

/// The undamaged records in `content`, which must outlive them. Bytes after the last one are what a
/// killed run had begun to write.
RecordsRead read_records(std::string_view content);

/// False if no journal or part begins with these bytes. They may be the whole file or its first
/// `mark_bytes` bytes.
bool may_be_records(std::string_view start);
inline constexpr std::size_t mark_bytes = 8;

/// Encodes and decodes a trial's record. decode_trial throws Failure, which begins with the path of
/// the file, for damaged bytes.
std::string encode_trial(std::uint64_t trial, const TrialRecord& record);
std::pair<std::uint64_t, TrialRecord> decode_trial(std::string_view bytes, const std::string& path);

/// Encodes and decodes a note: a text between the trials, such as when a session began or the times
/// of a part. note_in returns nullopt for the record of a trial.
std::string encode_note(std::string_view text);
std::optional<std::string> note_in(std::string_view bytes);

/// The first line in which two headers of lines `name: value` differ. `name` excludes the section
/// before the blank. It is empty if the headers do not have the same names.
struct HeaderDifference {
  std::string name, there, here;
};
HeaderDifference first_difference(const std::string& there, const std::string& here);

}  // namespace ranklab
