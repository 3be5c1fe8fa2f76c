#include "io/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/error.hpp"
#include "core/text.hpp"
#include "io/descriptor.hpp"

namespace ranklab {

namespace {

// Files up to the first size stay mapped as they are read; of larger ones about the second is.
constexpr std::uint64_t always_mapped = std::uint64_t{1} << 31, budget = std::uint64_t{1} << 30;

[[noreturn]] void fail(const std::string& path, const std::string& why) {
  throw Failure("cannot read " + printable(path) + ": " + why);
}

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::string& path) {
  if (path.find('\0') != std::string::npos) fail(path, "a name cannot hold a zero byte");
  // O_NONBLOCK: opening a FIFO that nobody writes to would wait for ever.
  const Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!descriptor.open()) fail(path, std::strerror(errno));
  struct stat status = {};
  if (::fstat(descriptor.get(), &status) != 0) fail(path, std::strerror(errno));
  if (S_ISDIR(status.st_mode)) fail(path, "it is a folder");
  if (!S_ISREG(status.st_mode)) fail(path, "it is not a regular file");
  if (status.st_size == 0) fail(path, "it is empty");
  const auto size = static_cast<std::uint64_t>(status.st_size);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor.get(), 0);
  if (data == MAP_FAILED) fail(path, std::strerror(errno));
  return std::shared_ptr<const MappedFile>(new MappedFile(static_cast<const unsigned char*>(data), size));
}

MappedFile::~MappedFile() {
  ::munmap(const_cast<unsigned char*>(data_), size_);
}

void MappedFile::read_was(std::uint64_t runs, std::uint64_t run_bytes) const {
  // A page that is touched brings its neighbours along, up to a large page of them.
  constexpr std::uint64_t window = 1 << 21;
  const std::uint64_t touched = std::min(runs * std::max(run_bytes, window), size_);
  if (size_ <= always_mapped || resident_.fetch_add(touched) + touched < budget) return;
  resident_.store(0);
  ::madvise(const_cast<unsigned char*>(data_), size_, MADV_DONTNEED);
}

}  // namespace ranklab
