// Bytes that are read where they are asked for: of a file, of a part of one, of what was computed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/descriptor.hpp"

namespace ranklab {

/// Immutable, so safe from several threads.
class ByteSource {
 public:
  ByteSource() = default;
  virtual ~ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  /// Bytes offset ... offset + count - 1, which must be there, to `out`. Throws Failure where they cannot be read.
  virtual void read(std::uint64_t offset, std::uint64_t count, unsigned char* out) const = 0;
  /// The same as text, for headers.
  std::string text(std::uint64_t offset, std::uint64_t count) const;
};

/// A regular file. It is read and not mapped: a file of any size needs no memory or address space beyond what is asked for, and
/// one that another program shortens meanwhile is an error, where a mapping would end this program.
class InputFile final : public ByteSource {
 public:
  /// Throws Failure that names the path and the reason; what is not a regular file, or empty, is refused without reading from it.
  static std::shared_ptr<const InputFile> open(const std::string& path);

  std::uint64_t size() const { return size_; }
  void read(std::uint64_t offset, std::uint64_t count, unsigned char* out) const override;

 private:
  InputFile(std::string path, Descriptor descriptor, std::uint64_t size)
      : path_(std::move(path)), descriptor_(std::move(descriptor)), size_(size) {}

  std::string path_;
  Descriptor descriptor_;
  std::uint64_t size_;
};

/// Bytes that are written once, from their start, and then read: in memory up to `most_in_memory` of them, beyond that in a file
/// without a name in the folder TMPDIR (else /var/tmp, else /tmp), which goes with the object. Written by one thread.
class ScratchBytes final : public ByteSource {
 public:
  static constexpr std::uint64_t most_in_memory = std::uint64_t{1} << 26;

  /// For `size` bytes. Throws Failure, with `label` before the reason, where the folder has no room for them.
  ScratchBytes(std::uint64_t size, const std::string& label);
  void append(const unsigned char* bytes, std::uint64_t count);
  void read(std::uint64_t offset, std::uint64_t count, unsigned char* out) const override;

 private:
  std::string label_, folder_;
  Descriptor descriptor_;              // open where they are in a file
  std::vector<unsigned char> memory_;  // else they are here
};

}  // namespace ranklab
