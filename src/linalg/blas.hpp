// The BLAS behind the matrices: which one, which kernel, how many threads.
#pragma once

#include <cstdint>
#include <string>

namespace ranklab {

/// What OpenBLAS 0.3.21 reads from the environment when it is loaded, where the user has not set it. It does not know every
/// processor family and then falls back to kernels without AVX-512, which are 1.5 to 2 times slower on large products. And for
/// each core it starts a thread with a buffer of 135 MB, of which a limited address space (`ulimit -v`) may have no room: this
/// program makes its own threads. Where something is to be set, the program sets it and starts itself again; else this returns.
void prepare_blas(char** argv);

/// The kernel that should be asked for when OpenBLAS picked `core`; empty: keep it.
std::string better_kernel(const std::string& core, bool has_avx512);

/// Threads inside one BLAS call; they change the last bits of a result.
void set_blas_threads(std::uint64_t threads);

/// Has OpenBLAS map, once and for all, the buffers of so many threads that call it at the same time: one that it is refused later
/// it asks for again and again, without end. Does nothing where the address space is not limited. Throws Failure where there is no
/// room.
void reserve_blas_buffers(std::uint64_t threads);

/// Floating-point operations a second of one thread in products of matrices of a few hundred rows, measured in some 50 ms.
double measured_flop_rate(bool single_precision);

std::string blas_name();       // OpenBLAS 0.3.21
std::string blas_core();       // the kernel in use
std::string armadillo_name();  // 11.4.2

}  // namespace ranklab
