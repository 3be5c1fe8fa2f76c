#include "linalg/blas.hpp"

#include <cblas.h>
#include <doctest/doctest.h>

#include <armadillo>
#include <filesystem>
#include <iterator>

namespace blas_test {

using namespace ranklab;

TEST_CASE(
    "another kernel is requested only if the CPU has AVX-512 and OpenBLAS did not detect it") {
  CHECK(better_kernel("Haswell", true) == "SkylakeX");
  CHECK(better_kernel("Zen", true) == "SkylakeX");
  CHECK(better_kernel("Haswell", false).empty());
  CHECK(better_kernel("SkylakeX", true).empty());
  CHECK(better_kernel("Cooperlake", true).empty());
}

TEST_CASE("the linked BLAS is OpenBLAS") {
  CHECK(blas_name().starts_with("OpenBLAS 0."));
}

TEST_CASE("OpenBLAS has threads of its own only while it may use them") {
  if (openblas_get_parallel() != 1) return;  // OpenMP keeps its threads
  const auto threads = [] {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
  };
  const arma::mat A(300, 300, arma::fill::ones);
  const auto square_is_right = [&] { return arma::all(arma::vectorise(A * A) == 300.0); };
  set_blas_threads(1);
  const auto before = threads();
  CHECK(square_is_right());
  for (int repetition = 0; repetition < 3; ++repetition) {
    set_blas_threads(2);
    CHECK(square_is_right());
    CHECK(threads() > before);
    set_blas_threads(1);
    CHECK(square_is_right());
    CHECK(threads() == before);
  }
}

}  // namespace blas_test
