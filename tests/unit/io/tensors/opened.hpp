// Opens tensors of files that a test writes.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/text.hpp"
#include "io/complaint.hpp"
#include "io/tensors/tensor_file.hpp"

/// Writes the bytes under this name, opens the file by its address NAME or NAME:KEY, and removes
/// the folder; the file stays open.
inline ranklab::StoredTensor tensor_in(const std::string& bytes, const std::string& name,
                                       const std::string& key = "") {
  const TemporaryFolder folder;
  ranklab::write_file_atomically(folder / name, bytes);
  return ranklab::open_tensor(folder / (key.empty() ? name : name + ":" + key));
}

/// As complaint_of() for opening and reading a tensor.
inline std::string complaint_about(const std::string& bytes, const std::string& name,
                                   const std::string& key = "") {
  return complaint_of(name, bytes, [&](const std::string& path) {
    ranklab::open_tensor(key.empty() ? path : path + ":" + key).values();
  });
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Checks a table of inputs, each with a part of the message that `complaint` gives for it.
template <class Complaint>
void check_refusals(const Complaint& complaint,
                    const std::vector<std::pair<std::string, std::string>>& table) {
  for (const auto& one : table) {
    const std::string message = complaint(one.first), shown = ranklab::printable_key(one.first);
    CHECK_MESSAGE(has(message, one.second), shown, ": ", message);
  }
}
