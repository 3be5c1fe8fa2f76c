#include "io/byte_reader.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "core/error.hpp"
#include "core/text.hpp"

namespace ranklab {

namespace {

[[noreturn]] void fail(const std::string& path, const std::string& why) {
  throw Failure("cannot read " + printable(path) + ": " + why);
}

// Calls pread(2) until all bytes are read.
void read_fully(int descriptor, std::uint64_t offset, std::uint64_t count, unsigned char* out,
                const std::string& path) {
  while (count > 0) {
    const ssize_t got = ::pread(descriptor, out, count, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(path, std::strerror(errno));
    if (got == 0) fail(path, "it has become shorter since it was opened");
    out += got;
    offset += static_cast<std::uint64_t>(got);
    count -= static_cast<std::uint64_t>(got);
  }
}

// /tmp may be in memory; /var/tmp is for large files.
std::string scratch_folder() {
  const char* chosen = std::getenv("TMPDIR");
  if (chosen != nullptr && *chosen != '\0') return chosen;
  return ::access("/var/tmp", W_OK) == 0 ? "/var/tmp" : "/tmp";
}

}  // namespace

std::string ByteReader::text(std::uint64_t offset, std::uint64_t count) const {
  std::string bytes(count, '\0');
  read(offset, count, reinterpret_cast<unsigned char*>(bytes.data()));
  return bytes;
}

std::shared_ptr<const InputFile> InputFile::open(const std::string& path) {
  if (path.find('\0') != std::string::npos) fail(path, "a file name cannot contain a zero byte");
  // O_NONBLOCK: opening a FIFO without a writer would block forever.
  Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!descriptor.open()) fail(path, std::strerror(errno));
  struct stat status = {};
  if (::fstat(descriptor.get(), &status) != 0) fail(path, std::strerror(errno));
  if (S_ISDIR(status.st_mode)) fail(path, "it is a folder");
  if (!S_ISREG(status.st_mode)) fail(path, "it is not a regular file");
  if (status.st_size == 0) fail(path, "it is empty");
  return std::shared_ptr<const InputFile>(
      new InputFile(path, std::move(descriptor), static_cast<std::uint64_t>(status.st_size)));
}

void InputFile::read(std::uint64_t offset, std::uint64_t count, unsigned char* out) const {
  read_fully(descriptor_.get(), offset, count, out, path_);
}

bool stays_below(const std::string& path) {
  const std::filesystem::path normal = std::filesystem::path(path).lexically_normal();
  return !normal.empty() && normal.is_relative() && *normal.begin() != "..";
}

ScratchBytes::ScratchBytes(std::uint64_t size, const std::string& label)
    : label_(label), folder_(scratch_folder()) {
  if (size <= most_in_memory) {
    memory_.reserve(size);
    return;
  }
  const auto refuse = [&](const std::string& why) {
    throw Failure(label_ + ": its " + std::to_string(size) + " bytes do not fit into " +
                  printable(folder_) + ": " + why + "; set TMPDIR=FOLDER to use another folder");
  };
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(folder_, error);
  if (!error && space.available < size) refuse(std::to_string(space.available) + " are free");
  std::string name = folder_ + "/ranklab.XXXXXX";
  descriptor_ = Descriptor(::mkstemp(name.data()));
  if (!descriptor_.open()) refuse(std::strerror(errno));
  ::fcntl(descriptor_.get(), F_SETFD, FD_CLOEXEC);
  ::unlink(name.c_str());
}

void ScratchBytes::append(const unsigned char* bytes, std::uint64_t count) {
  if (!descriptor_.open()) {
    memory_.insert(memory_.end(), bytes, bytes + count);
    return;
  }
  while (count > 0) {
    const ssize_t written = ::write(descriptor_.get(), bytes, count);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0)
      throw Failure(label_ + ": cannot write into " + printable(folder_) + ": " +
                    std::strerror(errno));
    bytes += written;
    count -= static_cast<std::uint64_t>(written);
  }
}

void ScratchBytes::read(std::uint64_t offset, std::uint64_t count, unsigned char* out) const {
  if (descriptor_.open()) return read_fully(descriptor_.get(), offset, count, out, folder_);
  std::copy_n(memory_.data() + offset, count, out);
}

}  // namespace ranklab
