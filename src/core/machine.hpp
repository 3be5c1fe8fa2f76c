// The machine, as far as this process may use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace ranklab {

/// The processor's name, or "unknown".
std::string cpu_name();

/// Processors that this process may use, at least 1.
std::uint64_t available_cores();

/// Columns of the terminal behind a descriptor, at most `otherwise`, which also stands for what is no terminal.
std::size_t columns_of(int descriptor, std::size_t otherwise);

/// Bytes of memory that this process may use: the machine's, or its control group's limit where that is lower. The files of the
/// control group are looked for below `root`.
double available_memory(const std::string& root = "");

}  // namespace ranklab
