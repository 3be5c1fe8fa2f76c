#include "io/gzip.hpp"

#include <doctest/doctest.h>

#include "io/complaint.hpp"
#include "io/gzip_file.hpp"

namespace gzip_test {

using namespace ranklab;

namespace {

std::string complaint(const std::string& bytes, std::uint32_t most = 1 << 20) {
  return complaint_of("file", bytes, [&](const std::string& path) { read_unpacked(path, most); });
}

std::string text(std::size_t size) {
  std::string bytes;
  for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>('a' + i * i / 7 % 5);
  return bytes;
}

}  // namespace

TEST_CASE("a plain file is read as it is, a compressed file is decompressed") {
  const TemporaryFolder folder;
  // 2^18 bytes are decompressed at a time.
  for (const std::size_t size :
       {0ul, 1ul, 1000ul, (1ul << 18) - 1, 1ul << 18, (1ul << 18) + 1, 700'000ul}) {
    CAPTURE(size);
    const std::string bytes = text(size);
    write_file_atomically(folder / "packed", gzip(bytes));
    CHECK(read_unpacked(folder / "packed", 1 << 20) == bytes);
    if (size == 0) continue;
    write_file_atomically(folder / "plain", bytes);
    CHECK(read_unpacked(folder / "plain", 1 << 20) == bytes);
  }
}

TEST_CASE("reading stops at the size limit, compressed or not") {
  CHECK(complaint(text(5000), 5000) == "read");
  CHECK(complaint(text(5001), 5000) == "file: more than 5000 bytes are implausible for this file");
  CHECK(complaint(gzip(std::string(5000, 'a')), 5000) == "read");
  CHECK(complaint(gzip(std::string(5001, 'a')), 5000) ==
        "file: more than 5000 bytes are implausible for this file");
  CHECK(complaint(gzip(std::string(1 << 24, 'a'))) ==
        "file: more than 1048576 bytes are implausible for this file");
}

TEST_CASE("a gzip stream that is damaged anywhere is refused with a one-line message") {
  const std::string packed = gzip(text(300));
  for (std::size_t size = 2; size < packed.size(); ++size) {
    CAPTURE(size);
    CHECK(complaint(packed.substr(0, size)) == "file: damaged: the gzip stream is cut off");
  }
  CHECK(complaint(packed + "x") == "file: damaged: bytes follow the gzip stream");
  CHECK(complaint(packed + packed) == "file: damaged: bytes follow the gzip stream");
  // Flips one bit anywhere: the file is refused, or the bit does not matter, as in the header's
  // time and the padding of the last byte.
  const TemporaryFolder folder;
  for (std::size_t at = 2; at < packed.size(); ++at) {
    CAPTURE(at);
    std::string wrong = packed;
    wrong[at] = static_cast<char>(wrong[at] ^ 0x10);
    write_file_atomically(folder / "wrong", wrong);
    try {
      const std::string read = read_unpacked(folder / "wrong", 1 << 20);
      CHECK(read == text(300));
      CHECK((at < 11 || at == packed.size() - 9));
    } catch (const Failure& failure) {
      CHECK(std::string(failure.what()).find(": damaged: ") != std::string::npos);
    }
  }
  CHECK(complaint("\x1f\x8b\x07" + packed.substr(3)) ==
        "file: damaged: not a gzip stream, or not what was packed");
}

TEST_CASE("a path that is not a regular file is refused without reading") {
  CHECK_THROWS_WITH_AS(read_unpacked("/dev/zero", 10),
                       "cannot read /dev/zero: it is not a regular file", Failure);
  CHECK_THROWS_WITH_AS(read_unpacked("/tmp", 10), "cannot read /tmp: it is a folder", Failure);
}

}  // namespace gzip_test
