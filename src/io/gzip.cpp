#include "io/gzip.hpp"

#include <zlib.h>

#include <new>

#include "core/error.hpp"
#include "core/text.hpp"
#include "io/byte_reader.hpp"

namespace ranklab {
namespace {

constexpr std::uint32_t block_bytes = std::uint32_t{1} << 18;  // stays in a core's cache

/// zlib's state for a gzip stream; zlib checks the length and checksum of the stream.
class Inflation {
 public:
  explicit Inflation(std::string& packed) {
    if (::inflateInit2(&stream_, MAX_WBITS + 16) != Z_OK) throw std::bad_alloc();
    stream_.next_in = reinterpret_cast<Bytef*>(packed.data());
    stream_.avail_in = static_cast<uInt>(packed.size());
  }
  ~Inflation() { ::inflateEnd(&stream_); }
  Inflation(const Inflation&) = delete;
  Inflation& operator=(const Inflation&) = delete;

  /// Appends the next block; returns zlib's status.
  int append_to(std::string& bytes) {
    const std::size_t done = bytes.size();
    bytes.resize(done + block_bytes);
    stream_.next_out = reinterpret_cast<Bytef*>(bytes.data() + done);
    stream_.avail_out = block_bytes;
    const int status = ::inflate(&stream_, Z_NO_FLUSH);
    bytes.resize(done + block_bytes - stream_.avail_out);
    return status;
  }
  bool input_left() const { return stream_.avail_in > 0; }

 private:
  z_stream stream_{};
};

}  // namespace

std::string read_unpacked(const std::string& path, std::uint32_t most) {
  const std::string label = printable(path);
  const auto require_at_most = [&](std::uint64_t size) {
    if (size > most)
      throw Failure(label + ": more than " + std::to_string(most) +
                    " bytes are implausible for this file");
  };
  const auto file = InputFile::open(path);
  require_at_most(file->size());
  std::string packed = file->text(0, file->size());
  if (!packed.starts_with("\x1f\x8b")) return packed;

  Inflation inflation(packed);
  std::string bytes;
  int status = Z_OK;
  while (status == Z_OK) {
    status = inflation.append_to(bytes);
    require_at_most(bytes.size());
  }
  if (status == Z_MEM_ERROR) throw std::bad_alloc();
  // Z_BUF_ERROR: no progress, although zlib had all input and room for output.
  if (status == Z_BUF_ERROR) throw Failure(label + ": damaged: the gzip stream is cut off");
  if (status != Z_STREAM_END)
    throw Failure(label + ": damaged: not a gzip stream, or not what was packed");
  if (inflation.input_left()) throw Failure(label + ": damaged: bytes follow the gzip stream");
  return bytes;
}

}  // namespace ranklab
