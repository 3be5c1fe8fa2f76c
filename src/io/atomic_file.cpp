#include "io/atomic_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/error.hpp"
#include "core/text.hpp"
#include "io/descriptor.hpp"

namespace ranklab {
namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(const std::string& what, const std::string& path, int error) {
  throw Failure(what + " " + printable(path) + ": " + std::strerror(error));
}

void create_parent_folders(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  if (parent.empty()) return;
  std::error_code error;
  fs::create_directories(parent, error);
  if (error)
    throw Failure("cannot create the folder of " + printable(path) + ": " + error.message());
}

void write_all(int descriptor, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("cannot write", path, errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

// A temporary file that is removed unless keep_as() is called.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& target)
      : path_(target + ".tmp." + std::to_string(::getpid())),
        descriptor_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
    if (!descriptor_.open()) fail("cannot write", target, errno);
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

}  // namespace

void write_file_atomically(const std::string& path, std::string_view bytes) {
  if (is_special_file(path)) {
    const Descriptor descriptor(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!descriptor.open()) fail("cannot write", path, errno);
    return write_all(descriptor.get(), bytes, path);
  }
  create_parent_folders(path);
  TemporaryFile temporary(path);
  write_all(temporary.descriptor(), bytes, path);
  temporary.keep_as(path);
}

void check_writable(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error))
    throw Failure("cannot write " + printable(path) + ": it is a folder");
  if (is_special_file(path)) {
    if (::access(path.c_str(), W_OK) != 0) fail("cannot write", path, errno);
    return;
  }
  create_parent_folders(path);
  TemporaryFile probe(path);
}

std::string read_file(const std::string& path) {
  const Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!descriptor.open()) fail("cannot read", path, errno);
  std::string content;
  std::array<char, 1 << 16> buffer;
  for (;;) {
    const ssize_t got = ::read(descriptor.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("cannot read", path, errno);
    if (got == 0) return content;
    content.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

bool is_special_file(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

}  // namespace ranklab
