#include "linalg/blas.hpp"

#include <cblas.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <armadillo>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <sstream>
#include <vector>

#include "core/error.hpp"
#include "core/machine.hpp"
#include "core/text.hpp"

// Exported by OpenBLAS but not declared; null in other libraries.
extern "C" {
[[gnu::weak]] void* blas_memory_alloc(int unused);
[[gnu::weak]] void blas_memory_free(void* buffer);
[[gnu::weak]] int blas_thread_shutdown_();
}

namespace ranklab {
namespace {

constexpr std::uint64_t blas_buffer_bytes =
    135'266'304;  // of OpenBLAS 0.3.21 on x86-64, as strace shows it

#if defined(__linux__) && defined(__GLIBC__) && !defined(RANKLAB_PORTABLE) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// OpenBLAS starts its threads when it is loaded, before main could set OPENBLAS_NUM_THREADS or
// print anything. From 0.3.29 on, it retries forever if a limited address space has no room for its
// buffers. The functions in .preinit_array run before any library's constructor, and before the C
// library knows its environment; hence execve.
void give_up(int) {
  constexpr char line[] =
      "ranklab: out of memory: OpenBLAS cannot start within the limit of address space (ulimit "
      "-v)\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line, sizeof line - 1);
  ::_exit(1);
}

// Ends the program through give_up() after this many seconds of processor time; 0 cancels.
void set_deadline(long seconds) {
  const itimerval deadline{{0, 0}, {seconds, 0}};
  ::signal(SIGPROF, seconds > 0 ? give_up : SIG_DFL);
  ::setitimer(ITIMER_PROF, &deadline, nullptr);
}

bool waits_for_libraries = false;

void start_with_one_blas_thread(int, char** argv, char** environment) {
  constexpr std::size_t longest = 4096;
  constexpr long seconds = 5;  // loading takes a few hundredths of a second
  constexpr char variable[] = "OPENBLAS_NUM_THREADS=", one[] = "OPENBLAS_NUM_THREADS=1";
  static char* changed[longest];
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  std::size_t count = 0;
  bool is_set = false;
  for (; environment[count] != nullptr && count + 2 < longest; ++count) {
    is_set = is_set || std::strncmp(environment[count], variable, sizeof variable - 1) == 0;
    changed[count] = environment[count];
  }
  if (!is_set && environment[count] == nullptr) {
    changed[count] = const_cast<char*>(one);
    ::execve("/proc/self/exe", argv, changed);  // if it fails, continue with the library's defaults
  }
  set_deadline(seconds);
  waits_for_libraries = true;
}

[[gnu::section(".preinit_array"),
  gnu::used]] void (*before_libraries)(int, char**, char**) = start_with_one_blas_thread;

// The program's own constructors run after those of the libraries.
[[gnu::constructor]] void after_libraries() {
  if (waits_for_libraries) set_deadline(0);
}
#endif

}  // namespace

void reserve_blas_buffers(std::uint64_t threads) {
  static std::uint64_t reserved = 0;
  if (threads <= reserved || std::isinf(free_address_space())) return;
  const std::uint64_t wanted = (threads - reserved) * blas_buffer_bytes;
  void* const room = ::mmap(nullptr, wanted, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) {
    throw Failure("out of memory: OpenBLAS maps " + std::to_string(blas_buffer_bytes / 1'000'000) +
                  " MB for each of " + plural(threads, "thread") + ", " +
                  short_number(free_address_space() / 1e6) +
                  " MB of address space are left (ulimit -v); use fewer --threads");
  }
  ::munmap(room, wanted);
  reserved = threads;
  if (blas_memory_alloc == nullptr || blas_memory_free == nullptr) return;
  std::vector<void*> buffers(threads);
  for (void*& buffer : buffers) buffer = blas_memory_alloc(0);
  for (void* buffer : buffers) blas_memory_free(buffer);
}

std::string better_kernel(const std::string& core, bool has_avx512) {
  const bool without_avx512 = core == "Haswell" || core == "Zen" || core == "Sandybridge" ||
                              core == "Prescott" || core == "Nehalem";
  return has_avx512 && without_avx512 ? "SkylakeX" : "";
}

void prepare_blas(char** argv) {
  std::vector<const char*> chosen;
  const auto choose = [&](const char* variable, const std::string& value) {
    if (value.empty() || std::getenv(variable) != nullptr) return;
    ::setenv(variable, value.c_str(), 1);
    chosen.push_back(variable);
  };
  choose("OPENBLAS_CORETYPE", better_kernel(blas_core(), cpu_has_avx512()));
  choose("OPENBLAS_NUM_THREADS", std::isinf(free_address_space()) ? "" : "1");
  if (chosen.empty()) return;
  ::execv(program_path().c_str(), argv);
  // If the program cannot restart itself, continue with the library's defaults.
  for (const char* variable : chosen) ::unsetenv(variable);
}

// OpenBLAS starts a thread per core when it is loaded. At first these threads wait for work in a
// loop, which takes the cores from our own threads. So they end here if they are not needed.
// openblas_set_num_threads starts them again, therefore it comes first.
void set_blas_threads(std::uint64_t threads) {
  static std::uint64_t current = 0;
  if (threads == current) return;
  openblas_set_num_threads(static_cast<int>(threads));
  if (threads == 1 && blas_thread_shutdown_ != nullptr) blas_thread_shutdown_();
  current = threads;
}

std::string blas_name() {
  std::istringstream config(openblas_get_config());
  std::string name, version;
  config >> name >> version;
  return name + " " + version;
}

std::string blas_core() {
  return openblas_get_corename();
}

std::string armadillo_name() {
  return std::to_string(ARMA_VERSION_MAJOR) + "." + std::to_string(ARMA_VERSION_MINOR) + "." +
         std::to_string(ARMA_VERSION_PATCH);
}

}  // namespace ranklab
