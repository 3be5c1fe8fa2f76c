// The memory that a process may use, with files of control groups that the test writes.
#include "core/machine.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <cmath>

#include <filesystem>
#include <fstream>

#include "temporary_folder.hpp"

using namespace ranklab;

namespace {

double memory_with(const std::string& file, const std::string& content) {
  const TemporaryFolder root;
  const std::filesystem::path path = root / file;
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << content << "\n";
  return available_memory(root.path());
}

}  // namespace

TEST_CASE("memory: the lower of the machine's and its control group's limit, of either version") {
  const std::string version_2 = "sys/fs/cgroup/memory.max", version_1 = "sys/fs/cgroup/memory/memory.limit_in_bytes";
  const TemporaryFolder nothing;
  const double machine = available_memory(nothing.path());
  CHECK(machine > 65536);
  for (const std::string& file : {version_2, version_1}) {
    CAPTURE(file);
    CHECK(memory_with(file, "65536") == 65536);
    // What the two versions say where there is no limit.
    CHECK(memory_with(file, "max") == machine);
    CHECK(memory_with(file, "9223372036854771712") == machine);
    CHECK(memory_with(file, "") == machine);
  }
  CHECK(available_memory() <= machine);
}

TEST_CASE("memory: a limit of the address space leaves what is not mapped yet") {
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
  if (before.rlim_cur != RLIM_INFINITY) return;
  CHECK(std::isinf(free_address_space()));
  rlimit limited = before;
  limited.rlim_cur = rlim_t{1} << 50;  // beyond what the tests map
  REQUIRE(setrlimit(RLIMIT_AS, &limited) == 0);
  const double free = free_address_space(), available = available_memory();
  REQUIRE(setrlimit(RLIMIT_AS, &before) == 0);
  CHECK(free < 0x1p50);
  CHECK(free > 0x1p49);
  CHECK(available <= free);
}

TEST_CASE("machine: at least one core, and a name for it") {
  CHECK(available_cores() >= 1);
  CHECK_FALSE(cpu_name().empty());
}
