#include "linalg/blas.hpp"

#include <cblas.h>
#include <unistd.h>

#include <algorithm>
#include <armadillo>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <sstream>

#include "core/machine.hpp"

namespace ranklab {
namespace {

template <class T>
double flop_rate() {
  constexpr arma::uword n = 512;
  constexpr int repetitions = 5;
  const arma::Mat<T> a(n, n, arma::fill::ones);
  arma::Mat<T> b = a * a;  // the first product also wakes the library
  double fastest = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repetitions; ++i) {
    const auto start = std::chrono::steady_clock::now();
    b = a * a;
    fastest = std::min(fastest, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return 2.0 * n * n * n / fastest;
}

}  // namespace

double measured_flop_rate(bool single_precision) {
  set_blas_threads(1);
  return single_precision ? flop_rate<float>() : flop_rate<double>();
}

std::string better_kernel(const std::string& core, bool has_avx512) {
  const bool without_avx512 =
      core == "Haswell" || core == "Zen" || core == "Sandybridge" || core == "Prescott" || core == "Nehalem";
  return has_avx512 && without_avx512 ? "SkylakeX" : "";
}

void choose_blas_kernel(char** argv) {
  if (std::getenv("OPENBLAS_CORETYPE") != nullptr) return;
  const std::string kernel = better_kernel(blas_core(), cpu_has_avx512());
  if (kernel.empty()) return;
  ::setenv("OPENBLAS_CORETYPE", kernel.c_str(), 1);
  ::execv(program_path().c_str(), argv);
  // Where the program cannot start itself again, the slower kernel serves.
  ::unsetenv("OPENBLAS_CORETYPE");
}

void set_blas_threads(std::uint64_t threads) {
  openblas_set_num_threads(static_cast<int>(threads));
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
  return std::to_string(ARMA_VERSION_MAJOR) + "." + std::to_string(ARMA_VERSION_MINOR) + "." + std::to_string(ARMA_VERSION_PATCH);
}

}  // namespace ranklab
