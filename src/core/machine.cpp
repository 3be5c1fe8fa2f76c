#include "core/machine.hpp"

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <thread>

#include "core/error.hpp"

#if defined(__linux__) && !defined(RANKLAB_PORTABLE)
#define RANKLAB_LINUX
#include <sched.h>
#include <sys/prctl.h>

#include <csignal>
#endif
#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif
#if defined(__GLIBC__) && !defined(RANKLAB_PORTABLE)
#define RANKLAB_GLIBC
#include <malloc.h>
#endif

namespace ranklab {

namespace {

constexpr double no_limit = std::numeric_limits<double>::infinity();

// The lowest limit in the files `name` of a control group and its ancestors.
double lowest_limit(const std::string& hierarchy, std::string group, const char* name) {
  double lowest = no_limit;
  while (true) {
    std::ifstream file(hierarchy + group + "/" + name);
    double limit = 0;
    // Without a limit the file says "max", or a number beyond any memory.
    if (file >> limit && limit > 0) lowest = std::min(lowest, limit);
    if (group.empty()) return lowest;
    group.resize(std::min(group.size(), group.rfind('/')));
  }
}

// The lowest memory limit of this process's control groups, versions 2 and 1: lines "0::/path" and
// "7:cpu,memory:/path". A container may not see that path; its own group is then at the top.
double memory_of_control_groups(const std::string& root) {
  const std::string top = root + "/sys/fs/cgroup";
  double lowest = std::min(lowest_limit(top, "", "memory.max"),
                           lowest_limit(top + "/memory", "", "memory.limit_in_bytes"));
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",",
                      group = line.substr(second + 1);
    if (controllers == ",,") lowest = std::min(lowest, lowest_limit(top, group, "memory.max"));
    if (controllers.find(",memory,") != std::string::npos)
      lowest = std::min(lowest, lowest_limit(top + "/memory", group, "memory.limit_in_bytes"));
  }
  return lowest;
}

// The memory that Slurm gave the job, in MiB in its variables. A cluster may kill a job that
// exceeds it without using a control group; 0 means all memory of the node.
double memory_of_slurm() {
  const auto number = [](const char* name) {
    const char* text = std::getenv(name);
    return text == nullptr ? 0.0 : std::strtod(text, nullptr);
  };
  constexpr double mebibyte = 1 << 20;
  const double per_node = number("SLURM_MEM_PER_NODE"),
               per_cpus = number("SLURM_MEM_PER_CPU") * number("SLURM_CPUS_ON_NODE");
  return per_node > 0 ? per_node * mebibyte : per_cpus > 0 ? per_cpus * mebibyte : no_limit;
}

}  // namespace

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");  // Linux only; elsewhere it does not open
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name"))
      return line.substr(std::min(line.size(), line.find(": ") + 2));
  }
  return "unknown";
}

bool cpu_has_avx512() {
#if defined(__x86_64__) && !defined(RANKLAB_PORTABLE)
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
#else
  return false;
#endif
}

const char* missing_instructions() {
#if defined(__AVX512F__) && !defined(RANKLAB_PORTABLE)
  if (!__builtin_cpu_supports("avx512f")) return "AVX-512";
#endif
#if defined(__AVX2__) && !defined(RANKLAB_PORTABLE)
  if (!__builtin_cpu_supports("avx2")) return "AVX2";
#endif
#if defined(__FMA__) && !defined(RANKLAB_PORTABLE)
  if (!__builtin_cpu_supports("fma")) return "FMA";
#endif
  return nullptr;
}

std::uint64_t available_cores() {
#ifdef RANKLAB_LINUX
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) == 0)
    return static_cast<std::uint64_t>(std::max(1, CPU_COUNT(&set)));
#endif
  return std::max(1u, std::thread::hardware_concurrency());
}

std::size_t columns_of(int descriptor, std::size_t otherwise) {
#ifdef TIOCGWINSZ
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return std::min<std::size_t>(size.ws_col, otherwise);
#endif
  return otherwise;
}

double free_address_space() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return no_limit;
  std::ifstream file("/proc/self/statm");  // Linux only; elsewhere the whole limit counts as free
  double pages = 0;
  file >> pages;
  return std::max(0.0, static_cast<double>(limit.rlim_cur) -
                           pages * static_cast<double>(::sysconf(_SC_PAGESIZE)));
}

double available_memory(const std::string& root) {
  double bytes = no_limit;
#ifdef _SC_PHYS_PAGES
  const long pages = ::sysconf(_SC_PHYS_PAGES), page_size = ::sysconf(_SC_PAGESIZE);
  if (pages > 0 && page_size > 0)
    bytes = static_cast<double>(pages) * static_cast<double>(page_size);
#endif
  return std::min({bytes, free_address_space(), memory_of_control_groups(root), memory_of_slurm()});
}

std::string size_text(double bytes) {
  char buffer[32];
  const char* unit = "bytes";
  for (const char* larger : {"kB", "MB", "GB", "TB", "PB", "EB"}) {
    if (bytes < 1000) break;
    bytes /= 1000;
    unit = larger;
  }
  std::snprintf(buffer, sizeof buffer, "%.3g %s", bytes, unit);
  return buffer;
}

void require_memory(double bytes, const std::string& label) {
  constexpr double few = 1 << 26;  // asking the system takes longer than reading a small tensor
  if (bytes < few) return;
  const double available = available_memory();
  if (bytes > available)
    throw Failure(label + ": reading it needs about " + size_text(bytes) + " of memory, but only " +
                  size_text(available) + " is available");
}

std::string program_path() {
#ifdef RANKLAB_LINUX
  return "/proc/self/exe";
#elif defined(__APPLE__) && !defined(RANKLAB_PORTABLE)
  char path[4096];
  std::uint32_t size = sizeof path;
  return ::_NSGetExecutablePath(path, &size) == 0 ? path : "";
#else
  return "";
#endif
}

void keep_freed_memory() {
#ifdef RANKLAB_GLIBC
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  mallopt(M_TOP_PAD, 1 << 20);
#endif
}

void prefer_large_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::uint64_t bytes) {
#ifdef RANKLAB_LINUX
  constexpr std::uint64_t large = 1 << 21;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  if (bytes < large) return;
  // madvise needs an aligned address: skip to the first whole page.
  const std::uint64_t skip = (page - reinterpret_cast<std::uintptr_t>(memory) % page) % page;
  ::madvise(static_cast<char*>(memory) + skip, (bytes - skip) / page * page, MADV_HUGEPAGE);
#endif
}

void die_with_parent() {
#ifdef RANKLAB_LINUX
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
}

}  // namespace ranklab
