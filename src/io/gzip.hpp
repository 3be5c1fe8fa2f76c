// Files that may be compressed by gzip.
#pragma once

#include <cstdint>
#include <string>

namespace ranklab {

/// The bytes of a regular file, decompressed if it starts as a gzip stream. Throws Failure that
/// names the path and the reason: a system error, more than `most` bytes (before or after
/// decompression), or a stream that is damaged, cut off, or followed by other bytes.
std::string read_unpacked(const std::string& path, std::uint32_t most);

}  // namespace ranklab
