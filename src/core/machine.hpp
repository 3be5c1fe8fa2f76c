// The machine, as seen by this process. All calls that exist only on Linux, in glibc or on one kind
// of processor are in this file, each with its fallback; RANKLAB_PORTABLE disables them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace ranklab {

/// The processor's name, or "unknown".
std::string cpu_name();

/// Whether the processor has the AVX-512 instructions that BLAS kernels use; false if unknown.
bool cpu_has_avx512();

/// The name of an instruction set that the program was compiled for and the processor lacks;
/// nullptr if the processor has all of them, or if the system does not tell.
const char* missing_instructions();

/// Processors that this process may use, at least 1.
std::uint64_t available_cores();

/// Columns of the terminal behind a descriptor, at most `otherwise`; `otherwise` if it is not a
/// terminal.
std::size_t columns_of(int descriptor, std::size_t otherwise);

/// Bytes that this process may still map under its limit on address space (`ulimit -v`); infinite
/// if there is no limit.
double free_address_space();

/// Bytes of memory that this process may use: the minimum of the machine's memory, the limits of
/// its control groups (version 1 or 2), the memory that Slurm gave the job, and
/// free_address_space(). The files of the control groups are read below `root`.
double available_memory(const std::string& root = "");

/// "3.2 GB"; 1 GB is 10^9 bytes.
std::string size_text(double bytes);

/// Throws Failure, with `label` before the reason, if `bytes` are more than the available memory.
/// Call it before a file is read into memory, which can take minutes. A few bytes are not checked.
void require_memory(double bytes, const std::string& label);

/// A file with this program, perhaps a link to it; empty if unknown.
std::string program_path();

/// Keeps freed memory for the next matrix, of any thread, instead of giving it back to the system,
/// which clears each page that it is asked for again. Call at the start of the program.
void keep_freed_memory();

/// Asks for large pages for memory that is about to be written for the first time. The system then
/// provides 512 pages at once; page by page, this takes longer than reading a matrix into the
/// memory.
void prefer_large_pages(void* memory, std::uint64_t bytes);

/// Makes the system kill this process when the thread that started it ends, for any reason. For the
/// time between fork and exec: calls nothing that allocates.
void die_with_parent();

}  // namespace ranklab
