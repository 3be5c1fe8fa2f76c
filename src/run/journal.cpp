#include "run/journal.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.hpp"
#include "core/text.hpp"
#include "io/atomic_file.hpp"

namespace ranklab {
namespace {

// Short trials would otherwise spend their time in writes to a disk that many nodes share.
constexpr std::chrono::seconds write_interval{1};

// Never follows a link: whoever can write into the folder could otherwise choose a file to
// truncate.
Descriptor open_regular(const std::string& path, int flags) {
  Descriptor descriptor(::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666));
  const int error = errno;
  struct stat status {};
  if (error == ELOOP ||
      (descriptor.open() && ::fstat(descriptor.get(), &status) == 0 && !S_ISREG(status.st_mode)))
    throw Failure(printable(path) +
                  ": the journal of a run must be a regular file; remove it, or "
                  "choose another --out");
  errno = error;
  return descriptor;
}

[[noreturn]] void fail(const std::string& verb, const std::string& path, int error) {
  throw Failure("cannot " + verb + " " + printable(path) + ": " + std::strerror(error));
}

std::uint64_t trials_in(const RecordsRead& read) {
  return static_cast<std::uint64_t>(
      std::count_if(read.records.begin() + (read.has_header ? 1 : 0), read.records.end(),
                    [](std::string_view bytes) { return !note_in(bytes); }));
}

// The content of a file that is a journal, or empty.
std::string read_journal(const Descriptor& descriptor, const std::string& path) {
  std::string content;
  std::array<char, 1 << 16> buffer;
  const auto is_foreign = [&] { return !may_be_records(content); };
  for (off_t at = 0; !is_foreign();) {
    const ssize_t got = ::pread(descriptor.get(), buffer.data(), buffer.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("read", path, errno);
    if (got == 0) return content;
    content.append(buffer.data(), static_cast<std::size_t>(got));
    at += got;
  }
  throw Failure(printable(path) +
                ": is not a journal of this version of ranklab; move it, or choose another --out");
}

// Without its header, nobody knows which run the trials belong to.
void require_header(const RecordsRead& read, const std::string& path) {
  if (read.has_header || read.records.empty()) return;
  throw Failure(printable(path) + ": its first record is damaged, so the run of its " +
                counted(trials_in(read), "finished trial") +
                " is unknown; remove it to start over");
}

}  // namespace

std::string Journal::owner(const std::string& out) {
  const std::string path = path_for(out);
  const Descriptor descriptor = open_regular(path, O_RDONLY);
  if (!descriptor.open() && errno == ENOENT) return "";
  if (!descriptor.open()) fail("read", path, errno);
  const std::string content = read_journal(descriptor, path);
  const RecordsRead read = read_records(content);
  require_header(read, path);
  return read.records.empty() ? "" : std::string(read.records[0]);
}

Journal::Journal(const std::string& out, const std::string& identity, bool resume)
    : path_(path_for(out)), descriptor_(open_regular(path_, O_RDWR | O_CREAT)) {
  if (!descriptor_.open()) fail_to_write(errno);
  lock(out);
  const std::string content = read_journal(descriptor_, path_);
  const RecordsRead read = read_records(content);
  if (resume) require_header(read, path_);
  if (resume && !read.records.empty()) {
    resume_from(read, out, identity);
  } else {
    discarded_ = trials_in(read) > 0;
    start_over(identity);
  }
  writer_ = std::jthread([this](const std::stop_token& stop) { write_pending(stop); });
}

void Journal::resume_from(const RecordsRead& read, const std::string& out,
                          const std::string& identity) {
  if (read.records[0] != identity) {
    const HeaderDifference difference = first_difference(std::string(read.records[0]), identity);
    throw UsageError("--resume: " + printable(path_) + " belongs to a different run: " +
                     (difference.name.empty() ? "the parameters differ"
                                              : difference.name + " is " + difference.there +
                                                    " there, " + difference.here + " here") +
                     "; give the same parameters, or omit --resume to start over");
  }
  for (std::size_t i = 1; i < read.records.size(); ++i) {
    if (!note_in(read.records[i])) finished_.insert(decode_trial(read.records[i], path_));
  }
  has_trials_ = !finished_.empty();
  skipped_damage_ = read.has_gap;
  if (read.has_gap) {
    // The file is replaced as a whole, so that a kill at any moment loses no trial.
    std::string undamaged;
    for (const std::string_view record : read.records) undamaged += framed(record);
    write_file_atomically(path_, undamaged);
    descriptor_ = open_regular(path_, O_RDWR);
    if (!descriptor_.open()) fail_to_write(errno);
    lock(out);
  } else if (::ftruncate(descriptor_.get(), static_cast<off_t>(read.end)) != 0) {
    fail_to_write(errno);
  }
  if (::lseek(descriptor_.get(), 0, SEEK_END) < 0) fail_to_write(errno);
}

void Journal::lock(const std::string& out) {
  const int refused = ::flock(descriptor_.get(), LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
  // Some shared file systems have no locks (Lustre without flock): run without a lock there.
  const bool has_no_locks = refused == ENOSYS || refused == EOPNOTSUPP || refused == ENOLCK;
  struct stat held {
  }, named{};
  // Another run may have ended and removed the journal after it was opened here.
  const bool is_held = (refused != 0 && !has_no_locks) || ::fstat(descriptor_.get(), &held) != 0 ||
                       ::stat(path_.c_str(), &named) != 0 || held.st_ino != named.st_ino;
  if (is_held)
    throw Failure("another run is writing " + printable(out) + " (it has locked " +
                  printable(path_) + ")");
}

Journal::~Journal() {
  stop_writing();
  if (!has_trials_ && descriptor_.open()) remove();
}

void Journal::fail_to_write(int error) const {
  fail("write", path_, error);
}

void Journal::start_over(const std::string& identity) {
  if (::ftruncate(descriptor_.get(), 0) != 0) fail_to_write(errno);
  if (const int error = write(framed(identity)); error != 0) {
    ::unlink(path_.c_str());
    fail_to_write(error);
  }
}

void Journal::append(std::uint64_t trial, const TrialRecord& record) {
  has_trials_ = true;
  add(encode_trial(trial, record));
}

void Journal::note(std::string_view text) {
  add(encode_note(text));
}

void Journal::add(const std::string& bytes) {
  const std::string record = framed(bytes);
  {
    const std::lock_guard guard(mutex_);
    if (error_ != 0) fail_to_write(error_);
    pending_ += record;
  }
  pending_changed_.notify_one();
}

void Journal::write_pending(const std::stop_token& stop) {
  std::unique_lock guard(mutex_);
  for (auto last = std::chrono::steady_clock::now();; last = std::chrono::steady_clock::now()) {
    pending_changed_.wait(guard, stop, [this] { return !pending_.empty(); });
    pending_changed_.wait_until(guard, stop, last + write_interval, [] { return false; });
    if (pending_.empty()) return;  // the stop was requested
    const std::string bytes = std::exchange(pending_, {});
    guard.unlock();
    int error = write(bytes);
    // Some file systems do not support fsync.
    if (error == 0 && ::fsync(descriptor_.get()) != 0 && errno != EINVAL) error = errno;
    guard.lock();
    if (error_ == 0) error_ = error;
  }
}

int Journal::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

void Journal::stop_writing() {
  if (!writer_.joinable()) return;
  writer_.request_stop();
  writer_.join();
}

void Journal::close() {
  stop_writing();
  if (error_ != 0) fail_to_write(error_);
}

void Journal::remove() {
  {
    const std::lock_guard guard(mutex_);
    pending_.clear();
  }
  stop_writing();
  ::unlink(path_.c_str());
  descriptor_.close();
}

void Journal::finish_as(const std::string& path, std::string_view last_note) {
  note(last_note);
  close();
  if (::rename(path_.c_str(), path.c_str()) != 0)
    throw Failure("cannot write " + printable(path) + ": " + std::strerror(errno));
  descriptor_.close();
}

}  // namespace ranklab
