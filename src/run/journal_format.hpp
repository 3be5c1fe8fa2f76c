// The bytes of journals and parts: a header record (text that identifies the run), then trials and
// notes in the order in which they were added. A record consists of its length, its checksum and
// its bytes. Reading ends at a torn record. The format is not portable: only the program that wrote
// the bytes reads them.
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

/// A record: length, checksum, `bytes`.
std::string framed(std::string_view bytes);

/// The complete records at the front of `content`, which must outlive them. Sets `used` to the
/// number of bytes that they occupy.
std::vector<std::string_view> whole_records(std::string_view content, std::size_t& used);

/// Encodes and decodes a trial's record. decode_trial throws Failure for damaged bytes.
std::string encode_trial(std::uint64_t trial, const TrialRecord& record);
std::pair<std::uint64_t, TrialRecord> decode_trial(std::string_view bytes);

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
