#include "io/atomic_file.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "core/error.hpp"
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

}  // namespace atomic_file_test
