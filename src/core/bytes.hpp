// A 64-bit number for bytes: the checksum of records that may be torn, the key of a name.
#pragma once

#include <cstdint>
#include <string_view>

namespace ranklab {

/// FNV-1a, 64 bits; not a defence against anybody. `hash`: that of what stands before the bytes.
constexpr std::uint64_t fnv1a(std::string_view bytes, std::uint64_t hash = 0xcbf29ce484222325u) {
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace ranklab
