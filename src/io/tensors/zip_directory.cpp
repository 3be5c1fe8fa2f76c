// The directory of a ZIP archive ([APPNOTE] 4.3: local headers, central directory, its end, the
// ZIP64 extra field).
#include <algorithm>
#include <unordered_set>

#include "core/error.hpp"
#include "core/text.hpp"
#include "io/tensors/entry_types.hpp"
#include "io/tensors/zip_archive.hpp"

namespace ranklab {

namespace {

constexpr std::uint64_t end_bytes = 22, end64_bytes = 56, locator_bytes = 20, central_bytes = 46,
                        local_bytes = 30;
constexpr std::uint32_t escape32 = 0xFFFFFFFFu;

constexpr unsigned flag_encrypted = 1u << 0, flag_sizes_follow = 1u << 3,
                   flag_strongly_encrypted = 1u << 6, flag_masked = 1u << 13;

struct Directory {
  std::uint64_t entries, begin, bytes;
};

// The fields that a central and a local header share.
struct Header {
  std::uint16_t flags = 0, method = 0;
  std::uint32_t crc = 0;
  std::uint64_t packed_bytes = 0, bytes = 0, offset = 0;
};

class ZipDirectory {
 public:
  ZipDirectory(const InputFile& file, const std::string& label) : file_(file), label_(label) {}

  std::vector<ZipMember> members() {
    const Directory directory = find_directory();
    directory_begin_ = directory.begin;
    std::vector<ZipMember> found;
    std::unordered_set<std::string> names;
    std::uint64_t at = directory.begin;
    for (std::uint64_t i = 0; i < directory.entries; ++i) {
      found.push_back(member_at(at, directory.begin + directory.bytes));
      if (!names.insert(found.back().name).second)
        fail("two members '" + printable_key(found.back().name) + "'");
    }
    if (at != directory.begin + directory.bytes)
      fail("damaged: the length of the directory differs from its end record");
    check_overlap();
    return found;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const { throw Failure(label_ + ": " + why); }

  template <class Raw>
  Raw number(std::uint64_t at) const {
    if (at > file_.size() || sizeof(Raw) > file_.size() - at) fail("truncated");
    unsigned char bytes[sizeof(Raw)];
    file_.read(at, sizeof(Raw), bytes);
    return load_little<Raw>(bytes);
  }
  std::uint16_t u16(std::uint64_t at) const { return number<std::uint16_t>(at); }
  std::uint32_t u32(std::uint64_t at) const { return number<std::uint32_t>(at); }
  std::uint64_t u64(std::uint64_t at) const { return number<std::uint64_t>(at); }

  // The end record is last in the file, except for a comment whose length it contains.
  std::uint64_t find_end() const {
    const std::uint64_t size = file_.size();
    const std::uint64_t tail_begin = size - std::min<std::uint64_t>(size, end_bytes + 0xFFFF);
    const std::string tail = file_.text(tail_begin, size - tail_begin);
    for (std::uint64_t comment = 0; comment + end_bytes <= tail.size(); ++comment) {
      const std::uint64_t at = tail.size() - end_bytes - comment;
      if (tail.compare(at, 4, "PK\x05\x06") == 0 && u16(tail_begin + at + 20) == comment)
        return tail_begin + at;
    }
    if (size >= 4 && (u32(0) == 0x04034b50u))
      fail("truncated: the directory of the ZIP archive, at its end, is missing");
    fail("not a ZIP archive, as a .npz file must be");
  }

  Directory find_directory() const {
    const std::uint64_t end = find_end();
    Directory directory{u16(end + 10), u32(end + 16), u32(end + 12)};
    std::uint64_t directory_end = end;
    if (u16(end + 4) != 0 || u16(end + 6) != 0 || u16(end + 8) != u16(end + 10))
      fail("a split ZIP archive is not supported");
    if (end >= locator_bytes && u32(end - locator_bytes) == 0x07064b50u) {
      directory_end = u64(end - locator_bytes + 8);
      if (end < locator_bytes + end64_bytes || directory_end > end - locator_bytes - end64_bytes ||
          u32(directory_end) != 0x06064b50u ||
          u64(directory_end + 4) != end - locator_bytes - directory_end - 12) {
        fail("damaged: the ZIP64 end of the directory is missing");
      }
      directory = {u64(directory_end + 32), u64(directory_end + 48), u64(directory_end + 40)};
      if (u64(directory_end + 24) != directory.entries)
        fail("a split ZIP archive is not supported");
    }
    if (directory.bytes > directory_end || directory.begin != directory_end - directory.bytes) {
      fail("damaged: the directory of the ZIP archive is not at the offset in its end record");
    }
    if (directory.entries > directory.bytes / central_bytes)
      fail("damaged: the directory has fewer members than its end record claims");
    return directory;
  }

  // Replaces escaped sizes by those of the ZIP64 extra field, which contains only the escaped ones,
  // in this order.
  void apply_zip64(Header& header, std::uint64_t extra, std::uint64_t extra_bytes) const {
    const bool bytes = header.bytes == escape32, packed = header.packed_bytes == escape32,
               offset = header.offset == escape32;
    if (!bytes && !packed && !offset) return;
    for (std::uint64_t at = extra; at + 4 <= extra + extra_bytes;) {
      const std::uint64_t body = at + 4, length = u16(at + 2);
      if (length > extra + extra_bytes - body) break;
      if (u16(at) != 1) {
        at = body + length;
        continue;
      }
      std::uint64_t next = body;
      const auto take = [&](bool wanted, std::uint64_t& value) {
        if (!wanted) return;
        if (next + 8 > body + length) fail("damaged: a ZIP64 field is too short");
        value = u64(next);
        next += 8;
      };
      take(bytes, header.bytes);
      take(packed, header.packed_bytes);
      take(offset, header.offset);
      return;
    }
    fail("damaged: a ZIP64 field is missing");
  }

  // Reads the entry of the central directory at `at`, moves `at` past it, and locates the member's
  // bytes.
  ZipMember member_at(std::uint64_t& at, std::uint64_t end) {
    if (at > end || central_bytes > end - at || u32(at) != 0x02014b50u)
      fail("damaged: an entry of the directory is missing");
    Header header{u16(at + 8),  u16(at + 10), u32(at + 16),
                  u32(at + 20), u32(at + 24), u32(at + 42)};
    const std::uint64_t name_bytes = u16(at + 28), extra_bytes = u16(at + 30),
                        comment_bytes = u16(at + 32);
    if (name_bytes + extra_bytes + comment_bytes > end - at - central_bytes)
      fail("damaged: an entry of the directory is too long");
    ZipMember member;
    member.name = file_.text(at + central_bytes, name_bytes);
    if (u16(at + 34) != 0) fail("a split ZIP archive is not supported");
    apply_zip64(header, at + central_bytes + name_bytes, extra_bytes);
    at += central_bytes + name_bytes + extra_bytes + comment_bytes;

    const std::string where = "member '" + printable_key(member.name) + "' ";
    if ((header.flags & (flag_encrypted | flag_strongly_encrypted | flag_masked)) != 0)
      fail(where + "is encrypted, which is not supported");
    if (header.method != 0 && header.method != 8) {
      fail(where + "is compressed by method " + std::to_string(header.method) +
           "; allowed: stored (0) and deflated (8)");
    }
    member.deflated = header.method == 8;
    member.crc = header.crc;
    member.packed_bytes = header.packed_bytes;
    member.bytes = header.bytes;
    // Deflate produces at most 258 bytes from 2 bits.
    const bool plausible = member.deflated ? member.bytes / 1032 <= member.packed_bytes
                                           : member.bytes == member.packed_bytes;
    if (!plausible)
      fail(where + "claims " + std::to_string(member.bytes) + " bytes out of " +
           std::to_string(member.packed_bytes));
    locate(member, header, where);
    return member;
  }

  // Locates the member's bytes. The local header repeats the entry; if they differ, one is wrong.
  void locate(ZipMember& member, const Header& header, const std::string& where) {
    const std::uint64_t at = header.offset;
    if (at > directory_begin_ || local_bytes > directory_begin_ - at || u32(at) != 0x04034b50u)
      fail(where + "is not where the directory says");
    Header local{u16(at + 6), u16(at + 8), u32(at + 14), u32(at + 18), u32(at + 22), 0};
    const std::uint64_t name_bytes = u16(at + 26), extra_bytes = u16(at + 28),
                        room = directory_begin_ - at - local_bytes;
    if (name_bytes + extra_bytes > room || member.packed_bytes > room - name_bytes - extra_bytes)
      fail(where + "is truncated");
    const std::string name = file_.text(at + local_bytes, name_bytes);
    bool agrees = name == member.name && local.method == header.method &&
                  ((local.flags ^ header.flags) & flag_encrypted) == 0;
    // A writer that could not seek back left zeros here and wrote the sizes after the data.
    if ((local.flags & flag_sizes_follow) == 0) {
      apply_zip64(local, at + local_bytes + name_bytes, extra_bytes);
      agrees = agrees && local.crc == header.crc && local.bytes == header.bytes &&
               local.packed_bytes == header.packed_bytes;
    }
    if (!agrees) fail(where + "is described differently by its header and by the directory");
    const std::uint64_t begin = at + local_bytes + name_bytes + extra_bytes;
    member.packed_begin = begin;
    spans_.emplace_back(at, begin + member.packed_bytes);
  }

  void check_overlap() {
    std::sort(spans_.begin(), spans_.end());
    for (std::size_t i = 1; i < spans_.size(); ++i) {
      if (spans_[i].first < spans_[i - 1].second)
        fail("damaged: members of the ZIP archive overlap");
    }
  }

  const InputFile& file_;
  const std::string& label_;
  std::uint64_t directory_begin_ = 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> spans_;  // of the members, header included
};

}  // namespace

std::vector<ZipMember> read_zip_directory(const InputFile& file, const std::string& label) {
  return ZipDirectory(file, label).members();
}

}  // namespace ranklab
