// The machine, as far as this process may use it. All calls that only Linux, glibc or one kind of processor has stand here, each
// with what is done without it; RANKLAB_PORTABLE leaves them out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace ranklab {

/// The processor's name, or "unknown".
std::string cpu_name();

/// Whether it has the AVX-512 instructions that BLAS kernels use; false where that cannot be told.
bool cpu_has_avx512();

/// Names an instruction set that the program was compiled for and the processor lacks; nullptr if the processor has all of them,
/// and on systems that do not say.
const char* missing_instructions();

/// Processors that this process may use, at least 1.
std::uint64_t available_cores();

/// Columns of the terminal behind a descriptor, at most `otherwise`, which also stands for what is no terminal.
std::size_t columns_of(int descriptor, std::size_t otherwise);

/// Bytes that this process may still map under its limit of address space (`ulimit -v`); infinite without one.
double free_address_space();

/// Bytes of memory that this process may use: the machine's, the limit of a control group that it is in (of version 1 or 2), what
/// Slurm gave the job, or free_address_space(), whichever is lowest. The files of the control groups are looked for below `root`.
double available_memory(const std::string& root = "");

/// A file with this program, which may be a link to it; empty where that cannot be told.
std::string program_path();

/// Large matrices go straight back to the system when they are freed; small ones are kept for the next step. For the start of the
/// program. glibc otherwise raises its threshold by itself and keeps what one thread freed from the others, so that memory grows
/// with the number of trials.
void return_large_blocks();

/// Hands freed memory back to the system, in about a millisecond.
void release_free_memory();

/// Asks for large pages under memory that is about to be written for the first time: the system then hands it over 512 times
/// as fast as page by page, which otherwise takes longer than reading a matrix into it.
void prefer_large_pages(void* memory, std::uint64_t bytes);

/// send() that neither waits nor raises SIGPIPE where nobody reads: the bytes sent, or -1 with errno.
long send_without_signal(int socket, const void* data, std::size_t size);

}  // namespace ranklab
