// Writes .safetensors files.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "io/tensors/tensor_layout.hpp"

namespace ranklab {

/// One tensor to write: `bytes` are its entries, row by row and little-endian.
struct TensorToWrite {
  std::string key;
  Dtype dtype = Dtype::f32;
  std::vector<std::uint64_t> shape;
  std::string bytes;
};

/// Writes the tensors atomically, those with the widest entries first so that each is aligned.
/// Throws std::logic_error for bytes that do not match a shape, equal keys, or the key
/// __metadata__; Failure as write_file_atomically does.
void write_safetensors(const std::string& path, const std::vector<TensorToWrite>& tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace ranklab
