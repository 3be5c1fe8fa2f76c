// A whole file as memory that can be read and not written.
#pragma once

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

 private:
  MappedFile(const unsigned char* data, std::uint64_t size) : data_(data), size_(size) {}
  const unsigned char* data_;
  std::uint64_t size_;
};

/// Tells the system that these bytes of a mapped file are not needed in memory for now; whoever reads them again, also at this
/// moment in another thread, gets them from the system's cache or the disk.
void forget_pages(const unsigned char* data, std::uint64_t bytes);

}  // namespace ranklab
