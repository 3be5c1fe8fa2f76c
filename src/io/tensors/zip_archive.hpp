// ZIP archives as numpy writes them: one file, members stored or deflated, ZIP64 where it is needed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/mapped_file.hpp"

namespace ranklab {

struct ZipMember {
  std::string name;
  bool deflated = false;
  std::uint32_t crc = 0;
  std::uint64_t packed_bytes = 0, bytes = 0;  // `bytes` is what the archive claims; inflating checks it
  const unsigned char* packed = nullptr;      // in the mapped file
};

/// The members in the order of the central directory. Throws Failure, with `label` before the reason, for an archive that is
/// damaged, split, encrypted, or compressed otherwise, that has two members of one name or members that overlap, and for a
/// member whose claimed size deflate cannot reach.
std::vector<ZipMember> read_zip_directory(const MappedFile& file, const std::string& label);

/// The first `count` bytes of a member (all, if it has fewer), unchecked. Throws Failure where it cannot be inflated.
std::string zip_member_start(const ZipMember& member, std::uint64_t count, const std::string& label);

/// The whole member, inflated; its size and checksum agree with the directory. Throws Failure where they do not, and where
/// the machine has less memory than that.
std::shared_ptr<const unsigned char[]> inflate_zip_member(const ZipMember& member, const std::string& label);

/// Throws Failure unless the bytes of a stored member of `file` agree with its checksum.
void check_stored_zip_member(const MappedFile& file, const ZipMember& member, const std::string& label);

}  // namespace ranklab
