// The memory limit of a process, with control group files written by the test.
#include "core/machine.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <cmath>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/error.hpp"
#include "temporary_folder.hpp"

namespace machine_test {

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

TEST_CASE("memory: the limit is the lower of the machine's and the control group's (v1 or v2)") {
  const std::string version_2 = "sys/fs/cgroup/memory.max",
                    version_1 = "sys/fs/cgroup/memory/memory.limit_in_bytes";
  const TemporaryFolder nothing;
  const double machine = available_memory(nothing.path());
  CHECK(machine > 65536);
  for (const std::string& file : {version_2, version_1}) {
    CAPTURE(file);
    CHECK(memory_with(file, "65536") == 65536);
    // The values that the two versions report if there is no limit.
    CHECK(memory_with(file, "max") == machine);
    CHECK(memory_with(file, "9223372036854771712") == machine);
    CHECK(memory_with(file, "") == machine);
  }
  CHECK(available_memory() <= machine);
}

TEST_CASE("memory: an address-space limit leaves the part that is not mapped yet") {
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
  if (before.rlim_cur != RLIM_INFINITY) return;
  CHECK(std::isinf(free_address_space()));
  rlimit limited = before;
  limited.rlim_cur = rlim_t{1} << 50;  // more than the tests map
  REQUIRE(setrlimit(RLIMIT_AS, &limited) == 0);
  const double free = free_address_space();
  // Half a gigabyte more than is mapped, which is less than the machine has.
  limited.rlim_cur -= static_cast<rlim_t>(free) - (rlim_t{1} << 29);
  REQUIRE(setrlimit(RLIMIT_AS, &limited) == 0);
  const double available = available_memory();
  std::string refusal;
  try {
    require_memory(0x1p28, "small.npy");
    require_memory(3e9, "large.npy");
  } catch (const Failure& failure) {
    refusal = failure.what();
  }
  REQUIRE(setrlimit(RLIMIT_AS, &before) == 0);
  CHECK(free < 0x1p50);
  CHECK(free > 0x1p49);
  CHECK(available <= 0x1p29);
  CHECK(available > 0x1p28);
  CHECK(refusal.starts_with("large.npy: reading it needs about 3 GB of memory, but only "));
}

TEST_CASE("memory: a size is shown in the largest unit below it") {
  CHECK(size_text(999) == "999 bytes");
  CHECK(size_text(1500) == "1.5 kB");
  CHECK(size_text(3.2e9) == "3.2 GB");
  CHECK(size_text(4e18) == "4 EB");
}

TEST_CASE("memory: the process's own control group and its parents count") {
  const auto memory = [](const std::string& groups, const std::string& file,
                         const std::string& limit) {
    const TemporaryFolder root;
    for (const auto& [path, content] :
         {std::pair(std::string("proc/self/cgroup"), groups), std::pair(file, limit)}) {
      std::filesystem::create_directories(std::filesystem::path(root / path).parent_path());
      std::ofstream(root / path) << content << "\n";
    }
    return available_memory(root.path());
  };
  // Slurm's control groups in both versions; the limit is set on the job's group.
  const std::string version_2 = "0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_0";
  const std::string version_1 =
      "11:cpu,cpuacct:/\n4:memory:/slurm/uid_0/job_7/step_0\n1:name=systemd:/init.scope";
  CHECK(memory(version_2, "sys/fs/cgroup/system.slice/slurmstepd.scope/job_7/memory.max",
               "65536") == 65536);
  CHECK(memory(version_2,
               "sys/fs/cgroup/system.slice/slurmstepd.scope/job_7/step_0/user/task_0/memory.max",
               "65536") == 65536);
  CHECK(memory(version_2, "sys/fs/cgroup/system.slice/slurmstepd.scope/job_8/memory.max", "65536") >
        65536);
  CHECK(memory(version_1, "sys/fs/cgroup/memory/slurm/uid_0/job_7/memory.limit_in_bytes",
               "65536") == 65536);
  CHECK(memory(version_1, "sys/fs/cgroup/cpu,cpuacct/memory.limit_in_bytes", "65536") > 65536);
  CHECK(memory("0::/a/b", "sys/fs/cgroup/memory.max", "65536") ==
        65536);  // the container's own group, at the top
  CHECK(memory("nonsense", "sys/fs/cgroup/a/memory.max", "65536") > 65536);
}

TEST_CASE("memory: the amount that Slurm allocated to the job counts") {
  const TemporaryFolder nothing;
  const double machine = available_memory(nothing.path());
  ::setenv("SLURM_MEM_PER_NODE", "3", 1);
  CHECK(available_memory(nothing.path()) == 3 << 20);
  ::setenv("SLURM_MEM_PER_NODE", "0", 1);  // the whole node
  CHECK(available_memory(nothing.path()) == machine);
  ::unsetenv("SLURM_MEM_PER_NODE");
  ::setenv("SLURM_MEM_PER_CPU", "2", 1);
  ::setenv("SLURM_CPUS_ON_NODE", "2", 1);
  CHECK(available_memory(nothing.path()) == 4 << 20);
  ::unsetenv("SLURM_MEM_PER_CPU");
  ::unsetenv("SLURM_CPUS_ON_NODE");
}

TEST_CASE("machine: there is at least one core, and the CPU has a name") {
  CHECK(available_cores() >= 1);
  CHECK_FALSE(cpu_name().empty());
}

}  // namespace machine_test
