#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "linalg/blas.hpp"

// With the kernels of the program: those that OpenBLAS chooses for a CPU that it does not know can
// differ between equal columns.
int main(int argc, char** argv) {
  ranklab::prepare_blas(argv);
  return doctest::Context(argc, argv).run();
}
