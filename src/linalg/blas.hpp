// The BLAS library: its name, its kernel, and its number of threads.
#pragma once

#include <cstdint>
#include <string>

namespace ranklab {

/// Sets the environment variables that OpenBLAS reads when it is loaded, unless the user has set
/// them, and restarts the program if anything changed. OpenBLAS 0.3.21 does not know every
/// processor family; it then falls back to kernels without AVX-512, which are 1.5 to 2 times slower
/// on large products. It also starts one thread per core, each with a buffer of 135 MB, which a
/// limited address space (`ulimit -v`) may not have room for. This program creates its own threads.
void prepare_blas(char** argv);

/// The kernel to request if OpenBLAS picked `core`; empty: keep it.
std::string better_kernel(const std::string& core, bool has_avx512);

/// Sets the threads inside one BLAS call; their number changes the last bits of a result.
void set_blas_threads(std::uint64_t threads);

/// Makes OpenBLAS map buffers for this many threads that call it at the same time. If the system
/// refuses a buffer later, OpenBLAS retries forever. Does nothing if the address space is not
/// limited. Throws Failure if there is no room.
void reserve_blas_buffers(std::uint64_t threads);

std::string blas_name();       // OpenBLAS 0.3.21
std::string blas_core();       // the kernel in use
std::string armadillo_name();  // 11.4.2

}  // namespace ranklab
