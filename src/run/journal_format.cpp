#include "run/journal_format.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <sstream>
#include <stdexcept>

#include "core/bytes.hpp"
#include "core/error.hpp"
#include "core/text.hpp"

namespace ranklab {
namespace {

// Begins every record. Its last byte is the version of the format.
constexpr std::string_view mark = "ranklab\2";
static_assert(mark.size() == mark_bytes);

// Takes the place of the trial's index in a note.
constexpr std::uint64_t note_mark = std::numeric_limits<std::uint64_t>::max();

void put_number(std::string& bytes, std::uint64_t value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Reads numbers and bytes from the front of a text. Throws std::out_of_range at the end of the
// text.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  std::uint64_t number() {
    std::uint64_t value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view take(std::uint64_t n) {
    if (n > rest_.size()) throw std::out_of_range("record");
    const std::string_view out = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return out;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

}  // namespace

std::string framed(std::string_view bytes) {
  std::string out(mark);
  put_number(out, bytes.size());
  put_number(out, fnv1a(bytes));
  return out.append(bytes);
}

RecordsRead read_records(std::string_view content) {
  RecordsRead out;
  // A mark inside damaged bytes may claim any length. Without a bound, a file of marks would take a
  // time that grows with the square of its size.
  std::size_t left_to_search = 4 * content.size();
  for (std::size_t at = content.find(mark); at != std::string_view::npos;) {
    const std::string_view rest = content.substr(at);
    if (rest.size() < mark_bytes + 16) break;
    Reader reader(rest.substr(mark_bytes));
    const std::uint64_t length = reader.number(), sum = reader.number();
    const bool fits = length <= reader.rest().size();
    if (fits && fnv1a(reader.rest().substr(0, length)) == sum) {
      out.has_header = out.has_header || at == 0;
      out.has_gap = out.has_gap || at != out.end;
      out.records.push_back(reader.take(length));
      out.end = content.size() - reader.rest().size();
      at = content.find(mark, out.end);
      continue;
    }
    if (fits && length > left_to_search) break;
    if (fits) left_to_search -= length;
    at = content.find(mark, at + 1);
  }
  return out;
}

bool may_be_records(std::string_view start) {
  return start.substr(0, mark_bytes) == mark.substr(0, start.size());
}

std::string encode_trial(std::uint64_t trial, const TrialRecord& record) {
  std::string bytes;
  put_number(bytes, trial);
  put_number(bytes, record.arrays().size());
  for (const auto& [name, values] : record.arrays()) {
    put_number(bytes, name.size());
    bytes += name;
    put_number(bytes, values.size());
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double));
  }
  return bytes;
}

std::pair<std::uint64_t, TrialRecord> decode_trial(std::string_view bytes,
                                                   const std::string& path) {
  try {
    Reader reader(bytes);
    TrialRecord record;
    const std::uint64_t trial = reader.number();
    const std::uint64_t arrays = reader.number();
    for (std::uint64_t i = 0; i < arrays; ++i) {
      const std::string name(reader.take(reader.number()));
      const std::uint64_t count = reader.number();
      if (count > reader.rest().size() / sizeof(double)) throw std::out_of_range("values");
      std::vector<double> values(count);
      const std::string_view raw = reader.take(count * sizeof(double));
      if (count > 0) std::memcpy(values.data(), raw.data(), raw.size());
      record.set(name, std::move(values));
    }
    return {trial, std::move(record)};
  } catch (const std::out_of_range&) {
    throw Failure(printable(path) + ": damaged: a record ends too early");
  }
}

std::string encode_note(std::string_view text) {
  std::string bytes;
  put_number(bytes, note_mark);
  return bytes.append(text);
}

std::optional<std::string> note_in(std::string_view bytes) {
  if (bytes.size() < sizeof note_mark || Reader(bytes).number() != note_mark) return std::nullopt;
  return std::string(bytes.substr(sizeof note_mark));
}

HeaderDifference first_difference(const std::string& there, const std::string& here) {
  std::istringstream old_lines(there), new_lines(here);
  for (std::string a, b;;) {
    const bool more_old = static_cast<bool>(std::getline(old_lines, a)),
               more_new = static_cast<bool>(std::getline(new_lines, b));
    if (!more_old || !more_new) return {};
    if (a == b) continue;
    const auto value = [](const std::string& line) {
      return line.substr(std::min(line.size(), line.find(": ") + 2));
    };
    const std::string key = a.substr(0, a.find(": "));
    if (key != b.substr(0, b.find(": "))) return {};
    return {key.substr(key.find(' ') + 1), value(a), value(b)};
  }
}

}  // namespace ranklab
