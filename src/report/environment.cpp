#include "report/environment.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "linalg/blas.hpp"
#include "version.hpp"

namespace ranklab {
namespace {

std::string compiler_name() {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "gcc " __VERSION__;
#endif
}

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(std::min(line.size(), line.find(": ") + 2));
  }
  return "unknown";
}

}  // namespace

std::uint64_t available_cores() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<std::uint64_t>(std::max(1, CPU_COUNT(&set)));
}

double available_memory() {
  double bytes = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGE_SIZE));
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::ifstream file(path);
    double limit = 0;
    if (file >> limit && limit > 0) bytes = std::min(bytes, limit);
  }
  return bytes;
}

nlohmann::ordered_json environment_json(std::uint64_t threads, const std::vector<std::string>& argv) {
  return {{"version", RANKLAB_VERSION},
          {"git", RANKLAB_GIT},
          {"compiler", compiler_name()},
          {"flags", RANKLAB_FLAGS},
          {"armadillo", armadillo_name()},
          {"blas", blas_name()},
          {"blas_core", blas_core()},
          {"cpu", cpu_name()},
          {"threads", threads},
          {"argv", argv}};
}

std::string version_line() {
  return std::string(RANKLAB_VERSION) + " (git " + RANKLAB_GIT + ")";
}

std::string version_text() {
  return "ranklab " + version_line() + "\ncompiler   " + compiler_name() + ", " RANKLAB_FLAGS + "\nArmadillo  " + armadillo_name() +
         "\nBLAS       " + blas_name() + ", kernel " + blas_core() +
         ", 1 thread inside a trial unless --blas-threads says more\nmachine    " + cpu_name() + ", " +
         std::to_string(available_cores()) + " cores\n";
}

}  // namespace ranklab
