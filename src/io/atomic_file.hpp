// Files that appear complete or not at all: written next to the target, then renamed.
#pragma once

#include <string>
#include <string_view>

namespace ranklab {

/// Writes `bytes` to a temporary file next to `path`, flushes it to the disk and renames it.
/// Creates missing parent folders. If `path` is a symbolic link, the link stays and the file that
/// it names is written. A target that is not a regular file (a terminal, /dev/null) or that is an
/// open descriptor (/dev/stdout, /dev/fd/3) is written directly. Throws Failure that names the path
/// and the system's reason; a regular target keeps its old contents then.
void write_file_atomically(const std::string& path, std::string_view bytes);

/// Throws Failure unless write_file_atomically(path, ...) can be expected to succeed. Creates
/// missing parent folders; returns the one that holds the file if it was missing, else "".
std::string check_writable(const std::string& path);

/// The whole file, at most half of the available memory; of a pipe or a device, at most 256 MiB.
/// Throws Failure that names the path and the reason.
std::string read_file(const std::string& path);

/// The file at the end of the symbolic links of `path`; it need not exist.
std::string end_of_links(const std::string& path);

/// True if `path` is written directly: it exists and is neither a regular file nor a folder, or it
/// names an open descriptor.
bool is_special_file(const std::string& path);

}  // namespace ranklab
