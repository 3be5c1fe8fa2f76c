// A whole file as memory that can be read and not written.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace ranklab {

/// The bytes of a regular file, mapped: a page is read from the disk when it is first touched, and the system may forget it
/// again. A file that another program shortens while it is mapped ends this one (SIGBUS), as with any mapping.
class MappedFile {
 public:
  /// Throws Failure that names the path and the reason; what is not a regular file is refused without reading from it.
  static std::shared_ptr<const MappedFile> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const unsigned char* data() const { return data_; }
  std::uint64_t size() const { return size_; }

  /// To be told after `runs` stretches of `run_bytes` bytes each were read, from any thread. Pages that were read stay in this
  /// program's memory as long as nothing else asks for it; from about a gigabyte on, they are handed back to the system here,
  /// which may keep them in its cache. Whoever reads them again, also at this moment in another thread, gets them from there.
  void read_was(std::uint64_t runs, std::uint64_t run_bytes) const;

 private:
  MappedFile(const unsigned char* data, std::uint64_t size) : data_(data), size_(size) {}
  const unsigned char* data_;
  std::uint64_t size_;
  mutable std::atomic<std::uint64_t> resident_{0};  // at most this many bytes, since pages were handed back
};

}  // namespace ranklab
