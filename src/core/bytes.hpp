// A 64-bit hash of bytes: the checksum of records that may be incomplete, and the key of a name.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace ranklab {

/// FNV-1a, 64 bits; not cryptographic. `hash`: the hash of the bytes before these.
constexpr std::uint64_t fnv1a(std::string_view bytes, std::uint64_t hash = 0xcbf29ce484222325u) {
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

/// 16 hexadecimal digits.
inline std::string hexadecimal(std::uint64_t number) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(number));
  return text;
}

}  // namespace ranklab
