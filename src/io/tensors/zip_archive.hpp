// ZIP archives as numpy writes them: one file, members stored or deflated, ZIP64 where it is needed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/byte_source.hpp"

namespace ranklab {

struct ZipMember {
  std::string name;
  bool deflated = false;
  std::uint32_t crc = 0;
  std::uint64_t packed_bytes = 0, bytes = 0;  // `bytes` is what the archive claims; inflating checks it
  std::uint64_t packed_begin = 0;             // in the file
};

/// The members in the order of the central directory. Throws Failure, with `label` before the reason, for an archive that is
/// damaged, split, encrypted, or compressed otherwise, that has two members of one name or members that overlap, and for a
/// member whose claimed size deflate cannot reach.
std::vector<ZipMember> read_zip_directory(const InputFile& file, const std::string& label);

/// The first `count` bytes of a member (all, if it has fewer), unchecked. Throws Failure where it cannot be inflated.
std::string zip_member_start(const InputFile& file, const ZipMember& member, std::uint64_t count, const std::string& label);

/// The bytes of a member. Before the first of them is given, and once, they are held against the directory's size and checksum,
/// those of a deflated member when it is inflated into ScratchBytes, a block at a time. Reading throws Failure, with `label` before
/// the reason, where they do not agree or there is no room.
std::shared_ptr<const ByteSource> open_zip_member(std::shared_ptr<const InputFile> file, const ZipMember& member,
                                                  const std::string& label);

}  // namespace ranklab
