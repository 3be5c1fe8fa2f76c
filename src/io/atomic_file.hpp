// Files that a reader never sees half of: written beside the target, then renamed.
#pragma once

#include <string>
#include <string_view>

namespace ranklab {

/// Writes `bytes` to a temporary file beside `path`, flushes it to the disk and renames it. Missing parent folders are
/// created. A target that exists and is not a regular file (a terminal, /dev/null) is written directly.
/// Throws Failure that names the path and the system's reason; the old file is then untouched.
void write_file_atomically(const std::string& path, std::string_view bytes);

/// Throws Failure unless write_file_atomically(path, ...) can be expected to succeed; creates missing parent folders.
void check_writable(const std::string& path);

/// The whole file. Throws Failure that names the path and the system's reason.
std::string read_file(const std::string& path);

/// True where `path` exists and is neither a regular file nor a folder.
bool is_special_file(const std::string& path);

}  // namespace ranklab
