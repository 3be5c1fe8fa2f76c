// The error message of a reader for a file that a test writes.
#pragma once

#include <string>

#include "core/error.hpp"
#include "io/atomic_file.hpp"
#include "temporary_folder.hpp"

/// Writes the bytes under this name, calls `read` with the path, and returns the message of its
/// Failure without the folder's name, or "read" if it does not throw.
template <class Read>
std::string complaint_of(const std::string& name, const std::string& bytes, const Read& read) {
  const TemporaryFolder folder;
  ranklab::write_file_atomically(folder / name, bytes);
  try {
    read(folder / name);
  } catch (const ranklab::Failure& failure) {
    std::string message = failure.what();
    const std::size_t at = message.find(folder.path() + "/");
    return at == std::string::npos ? message : message.erase(at, folder.path().size() + 1);
  }
  return "read";
}
