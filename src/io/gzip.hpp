// Files that may be packed by gzip.
#pragma once

#include <cstdint>
#include <string>

namespace ranklab {

/// The bytes of a regular file, unpacked where they begin as a gzip stream does. Throws Failure that names the path and the reason:
/// what the system says, more than `most` bytes (packed or unpacked), a stream that is damaged, cut off, or followed by anything.
std::string read_unpacked(const std::string& path, std::uint32_t most);

}  // namespace ranklab
