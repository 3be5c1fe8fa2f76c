// Random access to bytes: those of a file, of a part of one, or computed ones.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/descriptor.hpp"

namespace ranklab {

/// Immutable, so safe from several threads.
class ByteReader {
 public:
  ByteReader() = default;
  virtual ~ByteReader() = default;
  ByteReader(const ByteReader&) = delete;
  ByteReader& operator=(const ByteReader&) = delete;

  /// Reads bytes offset ... offset + count - 1, which must exist, into `out`. Throws Failure if
  /// they cannot be read.
  virtual void read(std::uint64_t offset, std::uint64_t count, unsigned char* out) const = 0;
  /// As read(), into a string, for headers.
  std::string text(std::uint64_t offset, std::uint64_t count) const;
};

/// A regular file, read instead of mapped: a file of any size needs no memory or address space
/// beyond the bytes that are read. If another program shortens the file in the meantime, reading
/// throws; a mapping would end this program.
class InputFile final : public ByteReader {
 public:
  /// Throws Failure that names the path and the reason. A file that is empty or not regular is
  /// refused without reading from it.
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

/// True if a path that a file gives is relative and stays in its folder: files of strangers must
/// not choose what else is read.
bool stays_below(const std::string& path);

/// Bytes that one thread writes once, in order, and that are then read. Up to `most_in_memory`
/// bytes are in memory; more are in an unnamed file in the folder TMPDIR (else /var/tmp, else
/// /tmp), which disappears with the object.
class ScratchBytes final : public ByteReader {
 public:
  static constexpr std::uint64_t most_in_memory = std::uint64_t{1} << 26;

  /// Reserves `size` bytes. Throws Failure, with `label` before the reason, if the folder has no
  /// room for them.
  ScratchBytes(std::uint64_t size, const std::string& label);
  void append(const unsigned char* bytes, std::uint64_t count);
  void read(std::uint64_t offset, std::uint64_t count, unsigned char* out) const override;

 private:
  std::string label_, folder_;
  Descriptor descriptor_;              // open if the bytes are in a file
  std::vector<unsigned char> memory_;  // otherwise
};

}  // namespace ranklab
