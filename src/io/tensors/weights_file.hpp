// The tensors of a published model: one .safetensors file, or the shards that its index lists.
#pragma once

#include <string>
#include <vector>

#include "io/tensors/tensor_file.hpp"

namespace ranklab {

class WeightsFile {
 public:
  /// Opens a .safetensors file, or a `*.safetensors.index.json` whose "weight_map" lists the shard
  /// of each tensor. Opens and checks every shard: its name is a plain file name in the same
  /// folder, and it contains exactly the tensors that the index assigns to it. Throws Failure that
  /// names the file; for pickled weights (.bin, .pt, .pth) it says how to convert them.
  static WeightsFile open(const std::string& path);

  const std::string& path() const { return path_; }
  /// In the order of the files.
  const std::vector<std::string>& keys() const { return keys_; }
  const std::vector<TensorFile>& shards() const { return shards_; }
  bool has(const std::string& key) const;
  /// Throws Failure as TensorFile::tensor does.
  StoredTensor tensor(const std::string& key) const;

 private:
  std::string path_;
  std::vector<TensorFile> shards_;
  std::vector<std::string> keys_;
};

}  // namespace ranklab
