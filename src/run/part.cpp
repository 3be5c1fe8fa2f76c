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

PartFile::PartFile(std::string path) : path_(std::move(path)), content_(read_file(path_)) {
  std::size_t used = 0;
  for (const std::string_view record : whole_records(content_, used)) {
    if (header_.empty()) {
      header_ = record;
    } else if (auto note = note_in(record)) {
      last_note_ = std::move(*note);
    } else {
      if (!last_note_.empty()) session_note_ = std::exchange(last_note_, "");
      trials_.push_back(record);
    }
  }
  torn_ = used < content_.size();
}

void PartFile::take(const Shard& shard, std::vector<TrialRecord>& records) const {
  for (const std::string_view bytes : trials_) {
    auto [trial, record] = decode_trial(bytes);
    if (trial >= records.size() || !shard.holds(trial))
      throw Failure(printable(path_) + ": trial " + std::to_string(trial) +
                    " does not belong to shard " + shard.text());
    records[trial] = std::move(record);
  }
}

}  // namespace ranklab
