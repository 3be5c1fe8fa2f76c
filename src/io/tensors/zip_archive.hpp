// ZIP archives as numpy writes them: a single file with stored or deflated members, ZIP64 if
// needed. libzip would save half of the lines, but it gives no member's place in the file: members
// that overlap are not noticed, and a stored member of 10 GB cannot be read by several threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/byte_reader.hpp"

namespace ranklab {

struct ZipMember {
  std::string name;
  bool deflated = false;
  std::uint32_t crc = 0;
  std::uint64_t packed_bytes = 0,
                bytes = 0;         // `bytes` is the archive's claim, which inflating checks
  std::uint64_t packed_begin = 0;  // in the file
};

/// The members in the order of the central directory. Throws Failure, with `label` before the
/// reason, for an archive that is damaged, split, encrypted or compressed by another method; for
/// members that overlap or have equal names; and for a member whose claimed size deflate cannot
/// reach.
std::vector<ZipMember> read_zip_directory(const InputFile& file, const std::string& label);

/// The first `count` bytes of a member (all, if it has fewer), unchecked. Throws Failure if it
/// cannot be inflated.
std::string zip_member_start(const InputFile& file, const ZipMember& member, std::uint64_t count,
                             const std::string& label);

/// The bytes of a member. The first read checks them once against the directory's size and
/// checksum; a deflated member is inflated into ScratchBytes, block by block, for this. Reading
/// throws Failure, with `label` before the reason, if they differ or there is no room.
std::shared_ptr<const ByteReader> open_zip_member(std::shared_ptr<const InputFile> file,
                                                  const ZipMember& member,
                                                  const std::string& label);

}  // namespace ranklab
