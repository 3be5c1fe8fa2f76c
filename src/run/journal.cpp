#include "run/journal.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.hpp"
#include "core/text.hpp"
#include "io/atomic_file.hpp"

namespace ranklab {
namespace {

// Short trials would otherwise spend their time waiting for a disk that many nodes share.
constexpr std::chrono::seconds flush_interval{1};

// Never follows a link: whoever can write into the folder could otherwise choose a file to
// truncate.
Descriptor open_regular(const std::string& path) {
  Descriptor descriptor(
      ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666));
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

}  // namespace

JournalContent read_journal(const std::string& path) {
  // A device or a pipe may never end.
  if (is_special_file(path)) throw Failure("cannot read " + printable(path) + ": it is not a file");
  return parse_journal(read_file(path), path);
}

Journal::Journal(std::string path, const std::string& identity, Earlier earlier)
    : path_(std::move(path)), descriptor_(open_regular(path_)) {
  if (!descriptor_.open()) fail_to_write(errno);
  lock();
  const std::string start = journal_start(identity), content = read_file(path_);
  JournalContent there = parse_journal(content, path_);
  // A run that was killed at its start may have left a part of its header.
  const bool has_trials = !start.starts_with(content) && (!there.trials.empty() || there.has_rest);
  if (has_trials && earlier != Earlier::discarded) refuse_other_run(there, identity, earlier);
  const bool continues =
      earlier == Earlier::resumed && !there.header.empty() && there.header == identity;
  // Old trials go before a new header comes: they must never follow the header of another run.
  if (::ftruncate(descriptor_.get(), continues ? static_cast<off_t>(there.end) : 0) != 0)
    fail_to_write(errno);
  if (continues) {
    end_ = static_cast<off_t>(there.end);
    loss_ = there.loss();
    finished_ = std::move(there.trials);
    has_trials_ = !finished_.empty();
    return;
  }
  discarded_ = has_trials;
  discarded_same_ = has_trials && there.header == identity;
  try {
    write(start);
  } catch (const Failure&) {
    ::unlink(path_.c_str());
    throw;
  }
}

void Journal::refuse_other_run(const JournalContent& there, const std::string& identity,
                               Earlier earlier) const {
  if (there.header.empty())
    throw Failure(printable(path_) +
                  ": its first record is damaged, so the run of its finished trials is unknown; "
                  "--force starts over");
  if (there.header == identity) return;
  const std::string difference = header_difference(there.header, identity);
  if (earlier == Earlier::resumed)
    throw UsageError("--resume: " + printable(path_) + " belongs to a different run: " +
                     difference + "; give the same parameters, or --force to discard it");
  throw UsageError(printable(path_) + " holds " + plural(there.trials.size(), "finished trial") +
                   " of a different run (" + difference +
                   "); --force discards them, another --out keeps them");
}

void Journal::lock() const {
  const int refused = ::flock(descriptor_.get(), LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
  // Some shared file systems have no locks (Lustre without flock): run without a lock there.
  const bool has_no_locks = refused == ENOSYS || refused == EOPNOTSUPP || refused == ENOLCK;
  struct stat held {
  }, named{};
  // Another run may have ended and removed the journal after it was opened here.
  const bool is_held = (refused != 0 && !has_no_locks) || ::fstat(descriptor_.get(), &held) != 0 ||
                       ::stat(path_.c_str(), &named) != 0 || held.st_ino != named.st_ino;
  if (is_held) throw Failure("another run is writing " + printable(path_));
}

Journal::~Journal() {
  if (!has_trials_ && descriptor_.open()) remove();
}

void Journal::fail_to_write(int error) const {
  throw Failure("cannot write " + printable(path_) + ": " + std::strerror(error));
}

void Journal::append(std::string_view encoded_trial) {
  write(framed(encoded_trial));
  has_trials_ = true;
}

void Journal::note(std::string_view text) {
  write(framed(encode_note(text)));
}

void Journal::write(std::string_view bytes) {
  // If a write fails, the next record replaces the bytes of this one.
  off_t at = end_;
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(descriptor_.get(), bytes.data(), bytes.size(), at);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_to_write(errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
    at += written;
  }
  end_ = at;
  if (std::chrono::steady_clock::now() - flushed_ > flush_interval) flush();
}

void Journal::flush() {
  // Some file systems do not support fsync.
  if (::fsync(descriptor_.get()) != 0 && errno != EINVAL) fail_to_write(errno);
  flushed_ = std::chrono::steady_clock::now();
}

void Journal::remove() {
  ::unlink(path_.c_str());
  descriptor_.close();
}

}  // namespace ranklab
