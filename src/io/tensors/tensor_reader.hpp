// The interface of a file format for TensorFile, and code that the readers share.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "io/byte_reader.hpp"
#include "io/tensors/stored_tensor.hpp"

namespace ranklab {

/// The tensors of one open file. Immutable, so safe from several threads.
class TensorReader {
 public:
  virtual ~TensorReader() = default;
  TensorReader(const TensorReader&) = delete;
  TensorReader& operator=(const TensorReader&) = delete;

  const std::vector<std::string>& keys() const { return keys_; }
  /// The index of a key, or keys().size() if it is missing.
  std::size_t find(const std::string& key) const {
    const auto found = index_.find(key);
    return found == index_.end() ? keys_.size() : found->second;
  }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  /// The tensor of keys()[index]. Throws Failure for a type that is not read.
  virtual StoredTensor tensor(std::size_t index) const = 0;

 protected:
  TensorReader() = default;
  /// Sets the keys of all tensors; call it once. Returns the first repeated key, or nullptr.
  const std::string* set_keys(std::vector<std::string> keys) {
    keys_ = std::move(keys);
    index_.reserve(keys_.size());
    for (const std::string& key : keys_) {
      if (!index_.emplace(key, index_.size()).second) return &key;
    }
    return nullptr;
  }

  std::map<std::string, std::string> metadata_;  // of a .safetensors file

 private:
  std::vector<std::string> keys_;
  std::unordered_map<std::string_view, std::size_t>
      index_;  // views of keys_: a file may hold a million
};

/// Each opens one format and reads its structure. `label` is the path as messages show it. Throws
/// Failure.
std::shared_ptr<const TensorReader> read_npy(std::shared_ptr<const InputFile> file,
                                             const std::string& label);
std::shared_ptr<const TensorReader> read_npz(std::shared_ptr<const InputFile> file,
                                             const std::string& label);
std::shared_ptr<const TensorReader> read_safetensors(std::shared_ptr<const InputFile> file,
                                                     const std::string& label);

}  // namespace ranklab
