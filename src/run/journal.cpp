#include "run/journal.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
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

}  // namespace

std::string Journal::owner(const std::string& out) {
  if (::access(path_for(out).c_str(), F_OK) != 0) return "";
  const std::string content = read_file(path_for(out));
  std::size_t used = 0;
  const auto records = whole_records(content, used);
  return records.empty() ? "" : std::string(records[0]);
}

Journal::Journal(const std::string& out, const std::string& identity, bool resume)
    : path_(path_for(out)), descriptor_(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
  if (!descriptor_.open()) fail_to_write(errno);
  lock(out);
  const std::string content = read_file(path_);
  std::size_t used = 0;
  const auto records = whole_records(content, used);
  const bool has_trials =
      !records.empty() && std::any_of(records.begin() + 1, records.end(),
                                      [](std::string_view bytes) { return !note_in(bytes); });
  if (!resume || records.empty()) {
    discarded_ = has_trials;
    start_over(identity);
  } else if (records[0] != identity) {
    const HeaderDifference difference = first_difference(std::string(records[0]), identity);
    throw UsageError("--resume: " + printable(path_) + " belongs to a different run: " +
                     (difference.name.empty() ? "the parameters differ"
                                              : difference.name + " is " + difference.there +
                                                    " there, " + difference.here + " here") +
                     "; give the same parameters, or omit --resume to start over");
  } else {
    has_trials_ = has_trials;
    for (std::size_t i = 1; i < records.size(); ++i) {
      if (!note_in(records[i])) finished_.insert(decode_trial(records[i]));
    }
    if (::ftruncate(descriptor_.get(), static_cast<off_t>(used)) != 0 ||
        ::lseek(descriptor_.get(), 0, SEEK_END) < 0)
      fail_to_write(errno);
  }
  writer_ = std::jthread([this](const std::stop_token& stop) { write_pending(stop); });
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
  throw Failure("cannot write " + printable(path_) + ": " + std::strerror(error));
}

void Journal::start_over(const std::string& identity) {
  if (::ftruncate(descriptor_.get(), 0) != 0) fail_to_write(errno);
  if (const int error = write(framed(identity)); error != 0) fail_to_write(error);
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
