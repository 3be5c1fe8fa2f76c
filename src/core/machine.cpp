#include "core/machine.hpp"

#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>

namespace ranklab {

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(std::min(line.size(), line.find(": ") + 2));
  }
  return "unknown";
}

std::size_t columns_of(int descriptor, std::size_t otherwise) {
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return otherwise;
  return std::min<std::size_t>(size.ws_col, otherwise);
}

std::uint64_t available_cores() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<std::uint64_t>(std::max(1, CPU_COUNT(&set)));
}

double available_memory(const std::string& root) {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page_size = ::sysconf(_SC_PAGE_SIZE);
  double bytes = std::numeric_limits<double>::infinity();
  if (pages > 0 && page_size > 0) bytes = static_cast<double>(pages) * static_cast<double>(page_size);
  // Versions 2 and 1 of control groups; without a limit the file says "max", or a number beyond any memory.
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::ifstream file(root + path);
    double limit = 0;
    if (file >> limit && limit > 0) bytes = std::min(bytes, limit);
  }
  return bytes;
}

}  // namespace ranklab
