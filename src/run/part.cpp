#include "run/part.hpp"

#include <charconv>
#include <utility>

#include "core/error.hpp"
#include "core/text.hpp"
#include "io/atomic_file.hpp"
#include "run/journal_format.hpp"

namespace ranklab {
namespace {

// The number in a text of digits only; 0 for any other text.
std::uint64_t positive_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : 0;
}

// A device or a pipe may never end.
std::string read_part(const std::string& path) {
  if (is_special_file(path)) throw Failure("cannot read " + printable(path) + ": it is not a file");
  return read_file(path);
}

}  // namespace

Shard parse_shard(const std::string& text, std::uint64_t trials, const std::string& label) {
  const std::size_t slash = std::min(text.size(), text.find('/'));
  const Shard shard{
      positive_number(std::string_view(text).substr(0, slash)),
      positive_number(std::string_view(text).substr(std::min(text.size(), slash + 1)))};
  if (shard.index == 0 || shard.index > shard.count || shard.count > trials) {
    throw UsageError(label + ": '" + text + "' is not allowed; allowed: i/N with 1 <= i <= N <= " +
                     std::to_string(trials) + ", the number of trials");
  }
  return shard;
}

PartFile::PartFile(std::string path) : path_(std::move(path)), content_(read_part(path_)) {
  const RecordsRead read = read_records(content_);
  is_new_ = read.records.empty() && may_be_records(content_);
  damaged_ = read.has_gap || read.end < content_.size();
  if (!read.has_header) return;
  header_ = read.records.front();
  for (std::size_t i = 1; i < read.records.size(); ++i) {
    if (auto note = note_in(read.records[i])) {
      last_note_ = std::move(*note);
    } else {
      if (!last_note_.empty()) session_note_ = std::exchange(last_note_, "");
      trials_.push_back(read.records[i]);
    }
  }
}

void PartFile::take(const Shard& shard, std::uint64_t trials,
                    std::map<std::uint64_t, TrialRecord>& records) const {
  for (const std::string_view bytes : trials_) {
    auto [trial, record] = decode_trial(bytes, path_);
    const std::string name = printable(path_) + ": trial " + std::to_string(trial);
    if (trial >= trials || !shard.holds(trial))
      throw Failure(name + " does not belong to shard " + shard.text());
    if (!records.emplace(trial, std::move(record)).second) throw Failure(name + " occurs twice");
  }
}

}  // namespace ranklab
