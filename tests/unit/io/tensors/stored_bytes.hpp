// Tensor files for tests, built byte by byte from the definitions of the formats.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

/// The low `count` bytes of a number, least significant first.
inline std::string little(std::uint64_t number, int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i)
    bytes += static_cast<char>(i < 8 ? (number >> (8 * i)) & 0xFF : 0);
  return bytes;
}
inline std::string big(std::uint64_t number, int count) {
  const std::string bytes = little(number, count);
  return {bytes.rbegin(), bytes.rend()};
}

/// The bits of each number, as T, in the order of this machine (little-endian).
template <class T>
std::string entries_of(const std::vector<double>& numbers) {
  std::string bytes;
  for (const double number : numbers) {
    const T entry = static_cast<T>(number);
    char raw[sizeof(T)];
    std::memcpy(raw, &entry, sizeof(T));
    bytes.append(raw, sizeof(T));
  }
  return bytes;
}

/// A .npy array with the given header text.
inline std::string npy_of_header(std::string header, const std::string& data, int version = 1) {
  const std::size_t prefix = version == 1 ? 10 : 12;
  while ((prefix + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  return std::string("\x93NUMPY") + static_cast<char>(version) + '\0' +
         little(header.size(), version == 1 ? 2 : 4) + header + data;
}

inline std::string npy(const std::string& descr, const std::string& shape, const std::string& data,
                       bool fortran = false) {
  return npy_of_header("{'descr': '" + descr + "', 'fortran_order': " +
                           (fortran ? "True" : "False") + ", 'shape': " + shape + ", }",
                       data);
}

/// A .safetensors file with the given header text.
inline std::string safetensors(const std::string& header, const std::string& data) {
  return little(header.size(), 8) + header + data;
}

/// A .safetensors file with one tensor `t`.
inline std::string safetensors_of(const std::string& dtype, const std::string& shape,
                                  const std::string& data) {
  return safetensors(R"({"t":{"dtype":")" + dtype + R"(","shape":)" + shape +
                         R"(,"data_offsets":[0,)" + std::to_string(data.size()) + "]}}",
                     data);
}

/// CRC-32, computed bit by bit.
inline std::uint32_t crc32_by_bits(const std::string& bytes) {
  std::uint32_t crc = 0xFFFFFFFFu;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xEDB88320u : 0u);
  }
  return ~crc;
}

/// A raw deflate stream, made by zlib.
inline std::string deflated(const std::string& bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("deflateInit2");
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

/// A member of a ZIP archive; fields at their defaults are derived from `content`.
struct ZipPart {
  std::string name, content;
  bool deflate = false;
  bool zip64_local = false;  // as numpy writes: the sizes of the local header are in an extra field
  bool zip64_central = false;  // the same for the directory, including the offset
  bool sizes_follow =
      false;  // written to a pipe: zeros in the local header, the sizes follow the data
  std::uint32_t crc_error = 0;
  std::int64_t claimed = -1;  // size in both headers
  unsigned flags = 0;
  int method = -1;
  std::int64_t offset = -1;
};

struct ZipOptions {
  bool zip64_end = false;
  std::string comment, prefix;
};

inline std::string zip(const std::vector<ZipPart>& parts, const ZipOptions& options = {}) {
  std::string file = options.prefix, directory;
  for (const ZipPart& part : parts) {
    const std::string packed = part.deflate ? deflated(part.content) : part.content;
    const std::uint64_t bytes =
        part.claimed >= 0 ? static_cast<std::uint64_t>(part.claimed) : part.content.size();
    const std::uint64_t offset =
        part.offset >= 0 ? static_cast<std::uint64_t>(part.offset) : file.size();
    const std::uint32_t crc = crc32_by_bits(part.content) ^ part.crc_error;
    const int method = part.method >= 0 ? part.method : part.deflate ? 8 : 0;
    const unsigned flags = part.flags | (part.sizes_follow ? 8u : 0u);
    const std::uint64_t escape = 0xFFFFFFFFu;

    const std::string local_extra =
        part.zip64_local
            ? little(1, 2) + little(16, 2) + little(bytes, 8) + little(packed.size(), 8)
            : "";
    file += little(0x04034b50, 4) + little(45, 2) + little(flags, 2) +
            little(static_cast<unsigned>(method), 2) + little(0, 4);
    if (part.sizes_follow) {
      file += little(0, 12);
    } else if (part.zip64_local) {
      file += little(crc, 4) + little(escape, 4) + little(escape, 4);
    } else {
      file += little(crc, 4) + little(packed.size(), 4) + little(bytes, 4);
    }
    file += little(part.name.size(), 2) + little(local_extra.size(), 2) + part.name + local_extra +
            packed;
    if (part.sizes_follow)
      file += little(0x08074b50, 4) + little(crc, 4) + little(packed.size(), 4) + little(bytes, 4);

    std::string extra = little(0x5455, 2) + little(1, 2) + "\1";  // an unrelated field comes first
    if (part.zip64_central)
      extra += little(1, 2) + little(24, 2) + little(bytes, 8) + little(packed.size(), 8) +
               little(offset, 8);
    directory += little(0x02014b50, 4) + little(45, 2) + little(45, 2) + little(flags, 2) +
                 little(static_cast<unsigned>(method), 2) + little(0, 4) + little(crc, 4) +
                 little(part.zip64_central ? escape : packed.size(), 4) +
                 little(part.zip64_central ? escape : bytes, 4) + little(part.name.size(), 2) +
                 little(extra.size(), 2) + little(0, 2) + little(0, 2) + little(0, 2) +
                 little(0, 4) + little(part.zip64_central ? escape : offset, 4) + part.name + extra;
  }
  const std::uint64_t begin = file.size();
  file += directory;
  if (options.zip64_end) {
    const std::uint64_t end = file.size();
    file += little(0x06064b50, 4) + little(44, 8) + little(45, 2) + little(45, 2) + little(0, 4) +
            little(0, 4) + little(parts.size(), 8) + little(parts.size(), 8) +
            little(directory.size(), 8) + little(begin, 8);
    file += little(0x07064b50, 4) + little(0, 4) + little(end, 8) + little(1, 4);
    file += little(0x06054b50, 4) + little(0, 4) + little(0xFFFF, 2) + little(0xFFFF, 2) +
            little(0xFFFFFFFF, 4) + little(0xFFFFFFFF, 4);
  } else {
    file += little(0x06054b50, 4) + little(0, 4) + little(parts.size(), 2) +
            little(parts.size(), 2) + little(directory.size(), 4) + little(begin, 4);
  }
  return file + little(options.comment.size(), 2) + options.comment;
}
