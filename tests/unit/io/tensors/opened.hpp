// Opens tensors of files that a test writes.
#pragma once

#include <string>

#include "core/error.hpp"
#include "io/atomic_file.hpp"
#include "io/tensors/tensor_file.hpp"
#include "temporary_folder.hpp"

/// Writes the bytes under this name, opens the file by its address NAME or NAME:KEY, and removes
/// the folder; the file stays open.
inline ranklab::StoredTensor tensor_in(const std::string& bytes, const std::string& name,
                                       const std::string& key = "") {
  const TemporaryFolder folder;
  ranklab::write_file_atomically(folder / name, bytes);
  return ranklab::open_tensor(folder / (key.empty() ? name : name + ":" + key));
}

/// The error message of opening and reading without the folder's name, or "opened" if there is
/// none.
inline std::string complaint_about(const std::string& bytes, const std::string& name,
                                   const std::string& key = "") {
  const TemporaryFolder folder;
  ranklab::write_file_atomically(folder / name, bytes);
  try {
    ranklab::open_tensor(folder / (key.empty() ? name : name + ":" + key)).values();
  } catch (const ranklab::Failure& failure) {
    std::string message = failure.what();
    const std::size_t at = message.find(folder.path() + "/");
    return at == std::string::npos ? message : message.erase(at, folder.path().size() + 1);
  }
  return "opened";
}
