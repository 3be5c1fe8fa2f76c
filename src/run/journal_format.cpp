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

constexpr std::string_view version = "ranklab.journal/1\n";

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

TrialRecord decode_arrays(Reader& reader) {
  TrialRecord record;
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
  return record;
}

// Adds a trial or a note. Returns false if the trial is already there.
bool add(JournalContent& out, std::string_view bytes) {
  Reader reader(bytes);
  const std::uint64_t trial = reader.number();
  if (trial != note_mark) return out.trials.emplace(trial, decode_arrays(reader)).second;
  out.notes.emplace_back(reader.rest());
  return true;
}

}  // namespace

std::string framed(std::string_view bytes) {
  std::string out;
  put_number(out, bytes.size());
  put_number(out, fnv1a(bytes));
  return out.append(bytes);
}

std::string journal_start(std::string_view header) {
  return std::string(version) + framed(header);
}

std::string encode_trial(std::uint64_t trial, const TrialRecord& record) {
  std::size_t size = 2 * sizeof(std::uint64_t);
  for (const auto& [name, values] : record.arrays())
    size += 2 * sizeof(std::uint64_t) + name.size() + values.size() * sizeof(double);
  std::string bytes;
  bytes.reserve(size);  // the pool keeps it, so no byte more
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

std::string encode_note(std::string_view text) {
  std::string bytes;
  put_number(bytes, note_mark);
  return bytes.append(text);
}

TrialRecord decode_trial(std::string_view bytes) {
  Reader reader(bytes);
  reader.number();  // the trial's index
  return decode_arrays(reader);
}

JournalContent parse_journal(std::string_view content, const std::string& path) {
  if (content.substr(0, version.size()) != version.substr(0, content.size()))
    throw Failure(printable(path) +
                  ": is not a journal or part of this version of ranklab; "
                  "move it, or name another file");
  JournalContent out;
  try {
    Reader reader(content);
    reader.take(version.size());
    while (!reader.rest().empty()) {
      const std::uint64_t length = reader.number(), checksum = reader.number();
      const std::string_view bytes = reader.take(length);
      if (fnv1a(bytes) != checksum) break;
      if (out.end == 0) {
        out.header = bytes;
      } else if (!add(out, bytes)) {
        break;
      }
      out.end = content.size() - reader.rest().size();
    }
  } catch (const std::out_of_range&) {  // the record is incomplete
  }
  out.has_rest = out.end < content.size();
  return out;
}

std::string JournalContent::loss() const {
  if (!has_rest) return "";
  return "is incomplete or damaged after " + plural(trials.size(), "finished trial") +
         "; what followed runs again";
}

std::string header_difference(const std::string& there, const std::string& here) {
  std::istringstream old_lines(there), new_lines(here);
  for (std::string a, b; std::getline(old_lines, a) && std::getline(new_lines, b);) {
    if (a == b) continue;
    const std::size_t colon = a.find(": ");
    if (colon == std::string::npos || !b.starts_with(a.substr(0, colon + 2))) break;
    const std::string name = a.substr(0, colon).substr(a.find(' ') + 1);
    constexpr std::size_t longest = 200;  // of what a reader compares
    if (a.size() > longest || b.size() > longest) return "another " + name;
    return name + " is " + a.substr(colon + 2) + " there, " + b.substr(colon + 2) + " here" +
           (name == "blas_core" ? "; set OPENBLAS_CORETYPE to one value on all nodes" : "");
  }
  return "the parameters differ";
}

}  // namespace ranklab
