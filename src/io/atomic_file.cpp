#include "io/atomic_file.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <random>

#include "core/bytes.hpp"
#include "core/error.hpp"
#include "core/machine.hpp"
#include "core/text.hpp"
#include "io/descriptor.hpp"

namespace ranklab {
namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(const std::string& what, const std::string& path, int error) {
  throw Failure(what + " " + printable(path) + ": " + std::strerror(error));
}

// The folder of the file if it was missing.
std::string create_parent_folders(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  if (parent.empty()) return "";
  std::error_code error;
  const bool is_new = fs::create_directories(parent, error);
  if (error)
    throw Failure("cannot create the folder of " + printable(path) + ": " + error.message());
  return is_new ? parent.string() : "";
}

void write_all(int descriptor, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("cannot write", path, errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

// A temporary file next to the target that is removed unless keep_as() is called. Nobody can have
// prepared its name: the name is random, and an existing file or link is never opened.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& target) {
    constexpr int attempts = 8;
    std::random_device random;
    for (int attempt = 0; attempt < attempts && !descriptor_.open(); ++attempt) {
      path_ = target + ".tmp." + hexadecimal((std::uint64_t{random()} << 32) | random());
      descriptor_ = Descriptor(
          ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
      if (!descriptor_.open() && errno != EEXIST) break;
    }
    if (!descriptor_.open()) fail("cannot write", target, errno);
    // The new file is as private as the one that it replaces.
    struct stat replaced {};
    if (::stat(target.c_str(), &replaced) == 0 && S_ISREG(replaced.st_mode))
      ::fchmod(descriptor_.get(), replaced.st_mode & 0777);
  }
  ~TemporaryFile() {
    if (!kept_) ::unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  int descriptor() const { return descriptor_.get(); }

  void keep_as(const std::string& target) {
    if (::fsync(descriptor_.get()) != 0 && errno != EINVAL) fail("cannot write", target, errno);
    if (descriptor_.close() != 0) fail("cannot write", target, errno);
    if (::rename(path_.c_str(), target.c_str()) != 0) fail("cannot write", target, errno);
    kept_ = true;
  }

 private:
  std::string path_;
  Descriptor descriptor_;
  bool kept_ = false;
};

// SIGINT and SIGTERM arrive after its lifetime, so that they leave no temporary file.
class SignalsWait {
 public:
  SignalsWait() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &signals, &before_);
  }
  ~SignalsWait() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;

 private:
  sigset_t before_;
};

// What a path names after its symbolic links.
struct Target {
  std::string path;     // the file at the end of the links, which may not exist
  int descriptor = -1;  // an open descriptor of this process: /dev/stdout, /dev/fd/3
};

// A link to an open descriptor must not be resolved to the file's name: the descriptor has its own
// position, and the file may have no name.
int descriptor_named_by(const fs::path& path) {
  const std::string number = path.filename().string();
  constexpr std::size_t longest = 9;
  if (number.empty() || number.size() > longest ||
      !std::all_of(number.begin(), number.end(), is_digit))
    return -1;
  std::error_code error;
  const fs::path folder = fs::canonical(path.parent_path(), error);
  return !error && folder == "/proc/" + std::to_string(::getpid()) + "/fd" ? std::stoi(number) : -1;
}

Target target_of(const std::string& path) {
  constexpr int most_links = 40;  // as Linux
  fs::path at = path;
  for (int links = 0; links < most_links; ++links) {
    if (const int descriptor = descriptor_named_by(at); descriptor >= 0)
      return {at.string(), descriptor};
    std::error_code error;
    if (!fs::is_symlink(fs::symlink_status(at, error))) return {at.string()};
    const fs::path next = fs::read_symlink(at, error);
    if (error) fail("cannot write", path, error.value());
    at = at.parent_path() / next;
  }
  fail("cannot write", path, ELOOP);
}

bool is_special(const Target& target) {
  if (target.descriptor >= 0) return true;
  std::error_code error;
  const fs::file_status status = fs::status(target.path, error);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

}  // namespace

void write_file_atomically(const std::string& path, std::string_view bytes) {
  const Target target = target_of(path);
  if (is_special(target)) {
    const Descriptor descriptor(target.descriptor >= 0
                                    ? ::fcntl(target.descriptor, F_DUPFD_CLOEXEC, 0)
                                    : ::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!descriptor.open()) fail("cannot write", path, errno);
    return write_all(descriptor.get(), bytes, path);
  }
  create_parent_folders(target.path);
  TemporaryFile temporary(target.path);
  write_all(temporary.descriptor(), bytes, path);
  temporary.keep_as(target.path);
}

std::string check_writable(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error))
    throw Failure("cannot write " + printable(path) + ": it is a folder");
  const Target target = target_of(path);
  if (is_special(target)) {
    const bool is_open = target.descriptor >= 0
                             ? (::fcntl(target.descriptor, F_GETFL) & O_ACCMODE) != O_RDONLY
                             : ::access(path.c_str(), W_OK) == 0;
    if (!is_open) fail("cannot write", path, target.descriptor >= 0 ? EBADF : errno);
    return "";
  }
  std::string created = create_parent_folders(target.path);
  const SignalsWait until_removed;
  TemporaryFile probe(target.path);
  return created;
}

std::string read_file(const std::string& path) {
  const Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!descriptor.open()) fail("cannot read", path, errno);
  struct stat status {};
  if (::fstat(descriptor.get(), &status) != 0) fail("cannot read", path, errno);
  // A device or a pipe has no size and may never end.
  constexpr double most_of_a_stream = 1 << 28;
  const double half = available_memory() / 2;
  const double most = S_ISREG(status.st_mode) ? half : std::min(half, most_of_a_stream);
  const auto check = [&](double size) {
    if (size > most)
      throw Failure("cannot read " + printable(path) + ": it has more than the " +
                    count_text(std::floor(most)) + " bytes that may be read at once");
  };
  if (S_ISREG(status.st_mode)) check(static_cast<double>(status.st_size));
  std::string content;
  if (S_ISREG(status.st_mode)) content.reserve(static_cast<std::size_t>(status.st_size));
  std::array<char, 1 << 16> buffer;
  for (;;) {
    const ssize_t got = ::read(descriptor.get(), buffer.data(), buffer.size());
    if (got < 0) fail("cannot read", path, errno);  // also if a signal has ended the wait

    if (got == 0) return content;
    content.append(buffer.data(), static_cast<std::size_t>(got));
    check(static_cast<double>(content.size()));
  }
}

std::string end_of_links(const std::string& path) {
  return target_of(path).path;
}

bool is_special_file(const std::string& path) {
  return is_special(target_of(path));
}

}  // namespace ranklab
