// What a file format provides to TensorFile, and what the readers share.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "io/mapped_file.hpp"
#include "io/tensors/stored_tensor.hpp"

namespace ranklab {

/// The tensors of one open file. Immutable, so safe from several threads.
class TensorReader {
 public:
  virtual ~TensorReader() = default;
  TensorReader(const TensorReader&) = delete;
  TensorReader& operator=(const TensorReader&) = delete;

  const std::vector<std::string>& keys() const { return keys_; }
  /// The index of a key, or keys().size() where it is missing.
  std::size_t find(const std::string& key) const {
    const auto found = index_.find(key);
    return found == index_.end() ? keys_.size() : found->second;
  }
  /// The tensor of keys()[index]. Throws Failure for a type that is not read, and for what only its bytes can show.
  virtual StoredTensor tensor(std::size_t index) const = 0;

 protected:
  TensorReader() = default;
  /// Appends a key; false where there is one like it.
  bool add_key(const std::string& key) {
    const bool is_new = index_.emplace(key, keys_.size()).second;
    if (is_new) keys_.push_back(key);
    return is_new;
  }

 private:
  std::vector<std::string> keys_;
  std::unordered_map<std::string, std::size_t> index_;
};

/// Each reads the structure of one format. `label` is the path as messages show it. Throws Failure.
std::shared_ptr<const TensorReader> read_npy(std::shared_ptr<const MappedFile> file, const std::string& label);
std::shared_ptr<const TensorReader> read_npz(std::shared_ptr<const MappedFile> file, const std::string& label);
std::shared_ptr<const TensorReader> read_safetensors(std::shared_ptr<const MappedFile> file, const std::string& label);

}  // namespace ranklab
