// The bytes of journals and parts: a header record (which run it is, as text), then trials and notes in the order in which they
// came. A record is its length, its checksum and its bytes; one that is torn ends the reading. Deliberately without an
// interchange format: the bytes are read by the program that wrote them.
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

/// A record's bytes with its length and checksum before them.
std::string framed(std::string_view bytes);

/// The whole records at the front of `content`, which must outlive them, and how many bytes they take.
std::vector<std::string_view> whole_records(std::string_view content, std::size_t& used);

/// The bytes of a trial's record, and back. decode_trial throws Failure for bytes that encode_trial did not write.
std::string encode_trial(std::uint64_t trial, const TrialRecord& record);
std::pair<std::uint64_t, TrialRecord> decode_trial(std::string_view bytes);

/// A text among the trials: when a session began, what a part took. note_in says nothing of a trial's record.
std::string encode_note(std::string_view text);
std::optional<std::string> note_in(std::string_view bytes);

/// The first line in which two headers differ, each of lines `name: value`. A name without its section: what follows a blank.
/// An empty name: they have other lines.
struct HeaderDifference {
  std::string name, there, here;
};
HeaderDifference first_difference(const std::string& there, const std::string& here);

}  // namespace ranklab
