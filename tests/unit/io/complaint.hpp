// What a reader says of a file that a test puts together.
#pragma once

#include <string>

#include "core/error.hpp"
#include "io/atomic_file.hpp"
#include "temporary_folder.hpp"

/// Writes the bytes under this name, calls `read` with the path, and returns what its Failure says, without the folder's
/// name; "read" where it says nothing.
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
