#include "run/journal.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>
#include <vector>

#include "core/bytes.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "io/atomic_file.hpp"

namespace ranklab {
namespace {

void put_number(std::string& bytes, std::uint64_t value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Takes numbers and bytes from the front of a text; running out of it means a damaged record.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  std::uint64_t number() {
    std::uint64_t value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view take(std::uint64_t n) {
    if (n > rest_.size()) throw Failure("damaged record in the journal");
    const std::string_view out = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return out;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

std::string framed(const std::string& bytes) {
  std::string out;
  put_number(out, bytes.size());
  put_number(out, fnv1a(bytes));
  return out + bytes;
}

// The whole records at the front of `content`, and how many bytes they take.
std::vector<std::string_view> whole_records(std::string_view content, std::size_t& used) {
  std::vector<std::string_view> records;
  used = 0;
  for (std::string_view rest = content; rest.size() >= 16;) {
    Reader reader(rest);
    const std::uint64_t length = reader.number(), sum = reader.number();
    if (length > reader.rest().size() || fnv1a(reader.rest().substr(0, length)) != sum) break;
    records.push_back(reader.take(length));
    rest = reader.rest();
    used = content.size() - rest.size();
  }
  return records;
}

// "seed is 1 there, 2 here": the first line in which two identities differ.
std::string first_difference(const std::string& there, const std::string& here) {
  std::istringstream old_lines(there), new_lines(here);
  for (std::string a, b;;) {
    const bool more_old = static_cast<bool>(std::getline(old_lines, a)), more_new = static_cast<bool>(std::getline(new_lines, b));
    if (!more_old || !more_new) return "the parameters differ";
    if (a == b) continue;
    const auto value = [](const std::string& line) { return line.substr(std::min(line.size(), line.find(": ") + 2)); };
    const std::string key = a.substr(0, a.find(": "));
    if (key != b.substr(0, b.find(": "))) return "the parameters differ";
    return key + " is " + value(a) + " there, " + value(b) + " here";
  }
}

}  // namespace

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

std::pair<std::uint64_t, TrialRecord> decode_trial(std::string_view bytes) {
  Reader reader(bytes);
  TrialRecord record;
  const std::uint64_t trial = reader.number();
  const std::uint64_t arrays = reader.number();
  for (std::uint64_t i = 0; i < arrays; ++i) {
    const std::string name(reader.take(reader.number()));
    const std::uint64_t count = reader.number();
    if (count > reader.rest().size() / sizeof(double)) throw Failure("damaged record in the journal");
    std::vector<double> values(count);
    const std::string_view raw = reader.take(count * sizeof(double));
    if (count > 0) std::memcpy(values.data(), raw.data(), raw.size());
    record.set(name, std::move(values));
  }
  return {trial, std::move(record)};
}

std::string Journal::owner(const std::string& out) {
  if (::access(path_for(out).c_str(), F_OK) != 0) return "";
  const std::string content = read_file(path_for(out));
  std::size_t used = 0;
  const auto records = whole_records(content, used);
  return records.empty() ? "" : std::string(records[0]);
}

Journal::Journal(const std::string& out, const std::string& identity, bool resume)
    : path_(path_for(out)), descriptor_(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
  if (!descriptor_.open()) fail_to_write();
  struct stat held {
  }, named{};
  // A run that ends removes its journal: the lock may then be on a file that has no name any more.
  if (::flock(descriptor_.get(), LOCK_EX | LOCK_NB) != 0 || ::fstat(descriptor_.get(), &held) != 0 ||
      ::stat(path_.c_str(), &named) != 0 || held.st_ino != named.st_ino) {
    throw Failure("another run is writing " + printable(out) + " (it holds " + printable(path_) + ")");
  }
  const std::string content = read_file(path_);
  std::size_t used = 0;
  const auto records = whole_records(content, used);
  if (!resume || records.empty()) {
    discarded_ = records.size() > 1;
    start_afresh(identity);
    return;
  }
  if (records[0] != identity) {
    throw UsageError("--resume: " + printable(path_) +
                     " belongs to another run: " + first_difference(std::string(records[0]), identity) +
                     "; give the same parameters, or run without --resume to start afresh");
  }
  for (std::size_t i = 1; i < records.size(); ++i) finished_.insert(decode_trial(records[i]));
  if (::ftruncate(descriptor_.get(), static_cast<off_t>(used)) != 0 || ::lseek(descriptor_.get(), 0, SEEK_END) < 0) fail_to_write();
}

void Journal::fail_to_write() const {
  throw Failure("cannot write " + printable(path_) + ": " + std::strerror(errno));
}

void Journal::start_afresh(const std::string& identity) {
  const std::string header = framed(identity);
  if (::ftruncate(descriptor_.get(), 0) != 0 ||
      ::write(descriptor_.get(), header.data(), header.size()) != static_cast<ssize_t>(header.size())) {
    fail_to_write();
  }
}

void Journal::append(std::uint64_t trial, const TrialRecord& record) {
  const std::string bytes = framed(encode_trial(trial, record));
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t written = ::write(descriptor_.get(), bytes.data() + done, bytes.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_to_write();
    done += static_cast<std::size_t>(written);
  }
  empty_ = false;
}

void Journal::remove() {
  ::unlink(path_.c_str());
  descriptor_.close();
}

}  // namespace ranklab
