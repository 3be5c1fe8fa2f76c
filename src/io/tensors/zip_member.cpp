// The bytes of a member of a ZIP archive.
#include <zlib.h>

#include <algorithm>

#include "core/error.hpp"
#include "core/machine.hpp"
#include "io/tensors/zip_archive.hpp"

namespace ranklab {

namespace {

// zlib counts in 32 bits.
constexpr std::uint64_t chunk = std::uint64_t{1} << 26;

std::uint32_t add_to_crc(std::uint32_t crc, const unsigned char* bytes, std::uint64_t count) {
  return static_cast<std::uint32_t>(::crc32(crc, bytes, static_cast<uInt>(count)));
}

// A raw deflate stream in memory.
class Inflater {
 public:
  Inflater(const ZipMember& member, const std::string& label) : label_(label), packed_(member.packed), left_(member.packed_bytes) {
    if (::inflateInit2(&stream_, -MAX_WBITS) != Z_OK) throw Failure(label_ + ": zlib cannot start");
  }
  ~Inflater() { ::inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Up to `count` further bytes, fewer at the end of the stream.
  std::uint64_t read(unsigned char* out, std::uint64_t count) {
    std::uint64_t done = 0;
    while (done < count && !ended_) {
      feed();
      const auto room = static_cast<uInt>(std::min(count - done, chunk));
      stream_.next_out = out + done;
      stream_.avail_out = room;
      const int status = ::inflate(&stream_, Z_NO_FLUSH);
      done += room - stream_.avail_out;
      if (status == Z_STREAM_END) {
        ended_ = true;
      } else if (status == Z_MEM_ERROR) {
        throw std::bad_alloc();
      } else if (status != Z_OK) {
        // Z_BUF_ERROR: no step was possible, with output to fill and the whole input given.
        throw Failure(label_ + ": damaged: the compressed bytes are not a deflate stream");
      }
    }
    return done;
  }

  // The stream is over, and nothing follows it. It may hold an end that no output asked for yet.
  bool at_end() {
    unsigned char beyond = 0;
    return read(&beyond, 1) == 0 && ended_ && left_ == 0 && stream_.avail_in == 0;
  }

 private:
  void feed() {
    if (stream_.avail_in > 0 || left_ == 0) return;
    const std::uint64_t count = std::min(left_, chunk);
    stream_.next_in = const_cast<unsigned char*>(packed_);
    stream_.avail_in = static_cast<uInt>(count);
    packed_ += count;
    left_ -= count;
  }

  const std::string& label_;
  z_stream stream_{};
  const unsigned char* packed_;
  std::uint64_t left_;
  bool ended_ = false;
};

[[noreturn]] void fail_checksum(const std::string& label) {
  throw Failure(label + ": damaged: the bytes do not agree with their checksum");
}

}  // namespace

std::string zip_member_start(const ZipMember& member, std::uint64_t count, const std::string& label) {
  std::string start(std::min(count, member.bytes), '\0');
  auto* out = reinterpret_cast<unsigned char*>(start.data());
  if (member.deflated) {
    start.resize(Inflater(member, label).read(out, start.size()));
  } else {
    std::copy_n(member.packed, start.size(), out);
  }
  return start;
}

std::shared_ptr<const unsigned char[]> inflate_zip_member(const ZipMember& member, const std::string& label) {
  if (static_cast<double>(member.bytes) > available_memory()) {
    throw Failure(label + ": inflated it takes " + std::to_string(member.bytes) +
                  " bytes, more than this machine has; save it without compression (np.savez), which is read where it lies");
  }
  // Not cleared: a false size then takes no memory beyond what is really inflated.
  std::shared_ptr<unsigned char[]> bytes(new unsigned char[member.bytes]);
  Inflater inflater(member, label);
  std::uint32_t crc = 0;
  for (std::uint64_t done = 0; done < member.bytes;) {
    const std::uint64_t count = std::min(chunk, member.bytes - done);
    if (inflater.read(bytes.get() + done, count) != count) throw Failure(label + ": damaged: shorter than the archive says");
    crc = add_to_crc(crc, bytes.get() + done, count);
    done += count;
  }
  if (!inflater.at_end()) throw Failure(label + ": damaged: longer than the archive says");
  if (crc != member.crc) fail_checksum(label);
  return bytes;
}

void check_stored_zip_member(const MappedFile& file, const ZipMember& member, const std::string& label) {
  std::uint32_t crc = 0;
  for (std::uint64_t done = 0; done < member.bytes;) {
    const std::uint64_t count = std::min(chunk, member.bytes - done);
    crc = add_to_crc(crc, member.packed + done, count);
    file.read_was(1, count);
    done += count;
  }
  if (crc != member.crc) fail_checksum(label);
}

}  // namespace ranklab
