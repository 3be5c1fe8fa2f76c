// A gzip file for tests, built from its definition (RFC 1952): header, raw deflate stream,
// checksum, size.
#pragma once

#include <string>

#include "io/tensors/stored_bytes.hpp"

inline std::string gzip(const std::string& bytes) {
  const std::string header("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
  return header + deflated(bytes) + little(crc32_by_bits(bytes), 4) + little(bytes.size(), 4);
}
