#include "io/atomic_file.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "core/error.hpp"
#include "io/descriptor.hpp"
#include "temporary_folder.hpp"

namespace atomic_file_test {

using namespace ranklab;

TEST_CASE(
    "a file is written atomically, missing folders are created, and an old file is replaced") {
  const TemporaryFolder folder;
  const std::string path = folder / "a/b/file.txt";
  write_file_atomically(path, "first");
  CHECK(read_file(path) == "first");
  const std::string large(3'000'000, 'x');
  write_file_atomically(path, large);
  CHECK(read_file(path) == large);
  CHECK(std::distance(std::filesystem::directory_iterator(folder / "a/b"),
                      std::filesystem::directory_iterator()) == 1);
}

TEST_CASE("failures name the path and keep the old file") {
  const TemporaryFolder folder;
  write_file_atomically(folder / "file", "old");
  CHECK_THROWS_AS(write_file_atomically(folder / "file/below", "x"), Failure);
  CHECK_THROWS_AS(check_writable(folder / "file/below"), Failure);
  CHECK_THROWS_AS(check_writable(folder / "."), Failure);
  CHECK(read_file(folder / "file") == "old");
  try {
    read_file(folder / "none");
    FAIL("reading a missing file must throw");
  } catch (const Failure& error) {
    CHECK(std::string(error.what()).find("none: No such file") != std::string::npos);
  }
  CHECK_THROWS_AS(write_file_atomically("/dev/full", "x"), Failure);
}

TEST_CASE("check_writable leaves nothing behind") {
  const TemporaryFolder folder;
  check_writable(folder / "out.json");
  CHECK(std::filesystem::is_empty(folder.path()));
  check_writable("/dev/null");
}

TEST_CASE("check_writable creates the folder of the file and names it once") {
  const TemporaryFolder folder;
  CHECK(check_writable(folder / "a/b/out.json") == folder / "a/b");
  CHECK(std::filesystem::is_empty(folder / "a/b"));
  CHECK(check_writable(folder / "a/b/out.json").empty());
}

TEST_CASE("a symbolic link stays and the file that it names is written") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "far");
  std::filesystem::create_symlink("far/file", folder / "link");
  std::filesystem::create_symlink("link", folder / "second");
  write_file_atomically(folder / "second", "new");  // the file did not exist
  CHECK(read_file(folder / "far/file") == "new");
  write_file_atomically(folder / "link", "newer");
  CHECK(read_file(folder / "far/file") == "newer");
  CHECK(std::filesystem::is_symlink(folder / "link"));
  CHECK(std::filesystem::is_symlink(folder / "second"));
  std::filesystem::create_symlink("loop", folder / "loop");
  CHECK_THROWS_AS(write_file_atomically(folder / "loop", "x"), Failure);
  CHECK_THROWS_AS(check_writable(folder / "loop"), Failure);
}

TEST_CASE("an open descriptor is written at its position, even if its file has no name") {
  const TemporaryFolder folder;
  const std::string path = folder / "file";
  const Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND, 0666));
  REQUIRE(::write(file.get(), "a", 1) == 1);
  const std::string name = "/dev/fd/" + std::to_string(file.get());
  CHECK(is_special_file(name));
  check_writable(name);
  write_file_atomically(name, "b");
  CHECK(read_file(path) == "ab");
  ::unlink(path.c_str());
  write_file_atomically(name, "c");
  std::string all(3, ' ');
  CHECK(::pread(file.get(), all.data(), 3, 0) == 3);
  CHECK(all == "abc");
  const Descriptor reading(::open("/dev/null", O_RDONLY));
  CHECK_THROWS_AS(check_writable("/proc/self/fd/" + std::to_string(reading.get())), Failure);
}

TEST_CASE("a device without an end is not read to its end") {
  CHECK_THROWS_AS(read_file("/dev/zero"), Failure);
}

}  // namespace atomic_file_test
