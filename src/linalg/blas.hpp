// The BLAS behind the matrices: which one, which kernel, how many threads.
#pragma once

#include <cstdint>
#include <string>

namespace ranklab {

/// Sets what OpenBLAS reads from the environment when it is loaded, unless the user has set it, and starts the program again if
/// anything changed. OpenBLAS 0.3.21 does not know every processor family and then falls back to kernels without AVX-512, which are
/// 1.5 to 2 times slower on large products. And for each core it starts a thread with a buffer of 135 MB, for which a limited
/// address space (`ulimit -v`) may have no room; this program makes its own threads.
void prepare_blas(char** argv);

/// The kernel that should be asked for when OpenBLAS picked `core`; empty: keep it.
std::string better_kernel(const std::string& core, bool has_avx512);

/// Threads inside one BLAS call; they change the last bits of a result.
void set_blas_threads(std::uint64_t threads);

/// Makes OpenBLAS map the buffers of so many threads that call it at the same time. If a buffer is refused later, OpenBLAS asks for
/// it again without end. Does nothing where the address space is not limited. Throws Failure where there is no room.
void reserve_blas_buffers(std::uint64_t threads);

/// Floating-point operations a second of one thread in products of matrices of a few hundred rows, measured in some 50 ms.
double measured_flop_rate(bool single_precision);

std::string blas_name();       // OpenBLAS 0.3.21
std::string blas_core();       // the kernel in use
std::string armadillo_name();  // 11.4.2

}  // namespace ranklab
