#include "linalg/blas.hpp"

#include <doctest/doctest.h>

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

}  // namespace blas_test
