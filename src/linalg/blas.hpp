// The BLAS behind the matrices: which one, which kernel, how many threads.
#pragma once

#include <cstdint>
#include <string>

namespace ranklab {

/// OpenBLAS 0.3.21 does not know every processor family and then falls back to kernels without AVX-512, which are 1.5 to 2
/// times slower on large products. The kernel is chosen when the library is loaded, so where a better one exists and the
/// user has not set OPENBLAS_CORETYPE, the program sets it and starts itself again. Returns where nothing is to be done.
void choose_blas_kernel(char** argv);

/// The kernel that should be asked for when OpenBLAS picked `core`; empty: keep it.
std::string better_kernel(const std::string& core, bool has_avx512);

/// Threads inside one BLAS call; they change the last bits of a result.
void set_blas_threads(std::uint64_t threads);

/// Floating-point operations a second of one thread in products of matrices of a few hundred rows, measured in some 50 ms.
double measured_flop_rate(bool single_precision);

std::string blas_name();       // OpenBLAS 0.3.21
std::string blas_core();       // the kernel in use
std::string armadillo_name();  // 11.4.2

}  // namespace ranklab
