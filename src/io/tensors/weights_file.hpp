// The tensors of a published model: one .safetensors file, or the shards that its index lists.
#pragma once

#include <string>
#include <vector>

#include "io/tensors/tensor_file.hpp"

namespace ranklab {

class WeightsFile {
 public:
  /// Opens a .safetensors file, or a `*.safetensors.index.json` whose "weight_map" says which shard beside it holds which tensor.
  /// Every shard is opened and checked: a shard is a plain file name, holds what the index says, and no tensor that it does not.
  /// Throws Failure that names the file; pickled weights (.bin, .pt, .pth) are refused with how to convert them.
  static WeightsFile open(const std::string& path);

  const std::string& path() const { return path_; }
  /// In the order of the files.
  const std::vector<std::string>& keys() const { return keys_; }
  bool has(const std::string& key) const;
  /// Throws Failure as TensorFile::tensor does.
  StoredTensor tensor(const std::string& key) const;

 private:
  std::string path_;
  std::vector<TensorFile> shards_;
  std::vector<std::string> keys_;
};

}  // namespace ranklab
