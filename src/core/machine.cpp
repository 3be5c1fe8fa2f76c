#include "core/machine.hpp"

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <thread>

#if defined(__linux__) && !defined(RANKLAB_PORTABLE)
#define RANKLAB_LINUX
#include <sched.h>
#endif
#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif
#if defined(__GLIBC__) && !defined(RANKLAB_PORTABLE)
#define RANKLAB_GLIBC
#include <malloc.h>
#endif

namespace ranklab {

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");  // Linux's; elsewhere it does not open
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(std::min(line.size(), line.find(": ") + 2));
  }
  return "unknown";
}

bool cpu_has_avx512() {
#if defined(__x86_64__) && !defined(RANKLAB_PORTABLE)
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl");
#else
  return false;
#endif
}

std::uint64_t available_cores() {
#ifdef RANKLAB_LINUX
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return static_cast<std::uint64_t>(std::max(1, CPU_COUNT(&set)));
#endif
  return std::max(1u, std::thread::hardware_concurrency());
}

std::size_t columns_of(int descriptor, std::size_t otherwise) {
#ifdef TIOCGWINSZ
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return std::min<std::size_t>(size.ws_col, otherwise);
#endif
  return otherwise;
}

double free_address_space() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::numeric_limits<double>::infinity();
  std::ifstream file("/proc/self/statm");  // Linux's; elsewhere all of it counts as free
  double pages = 0;
  file >> pages;
  return std::max(0.0, static_cast<double>(limit.rlim_cur) - pages * static_cast<double>(::sysconf(_SC_PAGESIZE)));
}

double available_memory(const std::string& root) {
  double bytes = free_address_space();
#ifdef _SC_PHYS_PAGES
  const long pages = ::sysconf(_SC_PHYS_PAGES), page_size = ::sysconf(_SC_PAGESIZE);
  if (pages > 0 && page_size > 0) bytes = static_cast<double>(pages) * static_cast<double>(page_size);
#endif
  // Versions 2 and 1 of control groups; without a limit the file says "max", or a number beyond any memory.
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::ifstream file(root + path);
    double limit = 0;
    if (file >> limit && limit > 0) bytes = std::min(bytes, limit);
  }
  return bytes;
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

void return_large_blocks() {
#ifdef RANKLAB_GLIBC
  mallopt(M_MMAP_THRESHOLD, 4 << 20);
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
#endif
}

void release_free_memory() {
#ifdef RANKLAB_GLIBC
  malloc_trim(0);
#endif
}

void prefer_large_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::uint64_t bytes) {
#ifdef RANKLAB_LINUX
  constexpr std::uint64_t large = 1 << 21;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  if (bytes < large) return;
  // The advice takes whole pages; those that are cut at the ends stay as they are.
  const std::uint64_t skip = (page - reinterpret_cast<std::uintptr_t>(memory) % page) % page;
  ::madvise(static_cast<char*>(memory) + skip, (bytes - skip) / page * page, MADV_HUGEPAGE);
#endif
}

long send_without_signal(int socket, const void* data, std::size_t size) {
#if defined(MSG_NOSIGNAL) && !defined(RANKLAB_PORTABLE)
  return ::send(socket, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
#else
#ifdef SO_NOSIGPIPE
  const int on = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
  return ::send(socket, data, size, MSG_DONTWAIT);
#endif
}

}  // namespace ranklab
