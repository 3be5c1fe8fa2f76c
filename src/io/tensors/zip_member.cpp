// The bytes of a member of a ZIP archive.
#include <zlib.h>

#include <algorithm>
#include <mutex>

#include "core/error.hpp"
#include "io/tensors/zip_archive.hpp"

namespace ranklab {

namespace {

// Bytes read, inflated and written at once; they stay in a core's cache.
constexpr std::uint64_t block_bytes = std::uint64_t{1} << 18;
using Buffer = std::vector<unsigned char>;

// The checksum of a member's bytes, block by block.
class Checksum {
 public:
  void add(const unsigned char* bytes, std::uint64_t count) {
    crc_ = ::crc32(crc_, bytes, static_cast<uInt>(count));
  }
  void require(const ZipMember& member, const std::string& label) const {
    if (crc_ != member.crc)
      throw Failure(label + ": damaged: the bytes do not agree with their checksum");
  }

 private:
  uLong crc_ = 0;
};

// A raw deflate stream in a file.
class Inflater {
 public:
  Inflater(const InputFile& file, const ZipMember& member, const std::string& label)
      : file_(file), label_(label), at_(member.packed_begin), left_(member.packed_bytes) {
    if (::inflateInit2(&stream_, -MAX_WBITS) != Z_OK) throw Failure(label_ + ": zlib cannot start");
  }
  ~Inflater() { ::inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Reads up to `count` more bytes; fewer at the end of the stream.
  std::uint64_t read(unsigned char* out, std::uint64_t count) {
    std::uint64_t done = 0;
    while (done < count && !ended_) {
      feed();
      const auto room = static_cast<uInt>(std::min(count - done, block_bytes));
      stream_.next_out = out + done;
      stream_.avail_out = room;
      const int status = ::inflate(&stream_, Z_NO_FLUSH);
      done += room - stream_.avail_out;
      if (status == Z_STREAM_END) {
        ended_ = true;
      } else if (status == Z_MEM_ERROR) {
        throw std::bad_alloc();
      } else if (status != Z_OK) {
        // Z_BUF_ERROR: no progress, although zlib had all input and room for output.
        throw Failure(label_ + ": damaged: the compressed bytes are not a deflate stream");
      }
    }
    return done;
  }

  // Whether the stream has ended and nothing follows it. Its end marker may not have been read yet.
  bool at_end() {
    unsigned char beyond = 0;
    return read(&beyond, 1) == 0 && ended_ && left_ == 0 && stream_.avail_in == 0;
  }

 private:
  void feed() {
    if (stream_.avail_in > 0 || left_ == 0) return;
    const std::uint64_t count = std::min(left_, block_bytes);
    packed_.resize(count);
    file_.read(at_, count, packed_.data());
    stream_.next_in = packed_.data();
    stream_.avail_in = static_cast<uInt>(count);
    at_ += count;
    left_ -= count;
  }

  const InputFile& file_;
  const std::string& label_;
  z_stream stream_{};
  Buffer packed_;
  std::uint64_t at_, left_;  // position and number of the remaining bytes in the file
  bool ended_ = false;
};

// Bytes that are checked against the directory at the first read.
class MemberBytes final : public ByteReader {
 public:
  MemberBytes(std::shared_ptr<const InputFile> file, ZipMember member, std::string label)
      : file_(std::move(file)), member_(std::move(member)), label_(std::move(label)) {}

  void read(std::uint64_t offset, std::uint64_t count, unsigned char* out) const override {
    std::call_once(checked_, [&] { member_.deflated ? inflate() : check(); });
    if (inflated_) return inflated_->read(offset, count, out);
    file_->read(member_.packed_begin + offset, count, out);
  }

 private:
  void inflate() const {
    auto inflated = std::make_unique<ScratchBytes>(member_.bytes, label_);
    Inflater inflater(*file_, member_, label_);
    Checksum checksum;
    Buffer block(std::min(block_bytes, member_.bytes));
    for (std::uint64_t left = member_.bytes; left > 0;) {
      const std::uint64_t count = std::min(block_bytes, left);
      if (inflater.read(block.data(), count) != count)
        throw Failure(label_ + ": damaged: shorter than the archive claims");
      checksum.add(block.data(), count);
      inflated->append(block.data(), count);
      left -= count;
    }
    if (!inflater.at_end()) throw Failure(label_ + ": damaged: longer than the archive claims");
    checksum.require(member_, label_);
    inflated_ = std::move(inflated);
  }

  void check() const {
    Checksum checksum;
    Buffer block(std::min(block_bytes, member_.bytes));
    for (std::uint64_t done = 0; done < member_.bytes;) {
      const std::uint64_t count = std::min(block_bytes, member_.bytes - done);
      file_->read(member_.packed_begin + done, count, block.data());
      checksum.add(block.data(), count);
      done += count;
    }
    checksum.require(member_, label_);
  }

  const std::shared_ptr<const InputFile> file_;
  const ZipMember member_;
  const std::string label_;
  mutable std::once_flag checked_;
  mutable std::unique_ptr<const ScratchBytes> inflated_;  // set once, before anything is read
};

}  // namespace

std::string zip_member_start(const InputFile& file, const ZipMember& member, std::uint64_t count,
                             const std::string& label) {
  count = std::min(count, member.bytes);
  if (!member.deflated) return file.text(member.packed_begin, count);
  std::string start(count, '\0');
  start.resize(
      Inflater(file, member, label).read(reinterpret_cast<unsigned char*>(start.data()), count));
  return start;
}

std::shared_ptr<const ByteReader> open_zip_member(std::shared_ptr<const InputFile> file,
                                                  const ZipMember& member,
                                                  const std::string& label) {
  return std::make_shared<const MemberBytes>(std::move(file), member, label);
}

}  // namespace ranklab
