// Tensors in files that others wrote: .npy, .npz and .safetensors, read as strictly as their formats are defined.
//
// A file is never trusted: every size is checked before memory is taken for it, and a message names the file, the key and what
// is wrong.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/tensors/stored_tensor.hpp"

namespace ranklab {

class TensorReader;

/// A file of tensors. The keys of a .npy file are one empty key.
class TensorFile {
 public:
  /// Opens by the ending of the name: .npy, .npz or .safetensors. Checks the whole structure, not the entries. Throws Failure that
  /// names the file and what is wrong; for a pickled object (.npy of dtype object, .pt, .pth, .bin) it says how to convert.
  static TensorFile open(const std::string& path);

  const std::string& path() const { return path_; }
  /// In the order of the file.
  std::vector<std::string> keys() const;
  bool has(const std::string& key) const;
  /// Throws Failure that names the file, the key and the keys that the file has (the nearest first, at most ten).
  /// A compressed .npz member is inflated, and a stored one held against its checksum, when its entries are first read; entries are
  /// otherwise read where they lie.
  StoredTensor tensor(const std::string& key) const;

 private:
  TensorFile(std::string path, std::shared_ptr<const TensorReader> reader);

  std::string path_;
  std::shared_ptr<const TensorReader> reader_;
};

/// "FILE.npz:key", "FILE.safetensors:key" or "FILE.npy" split into file and key; the key follows the last ".npz:" or
/// ".safetensors:". An archive without a key is allowed where it holds one tensor alone: then `key` is empty.
struct TensorAddress {
  std::string path, key;
};
TensorAddress parse_tensor_address(const std::string& text);

/// The tensor at an address. Throws Failure as TensorFile does, also for a missing key of an archive with several tensors.
StoredTensor open_tensor(const std::string& address);
/// The same of a file that is open: the tensor of a key, or, for an empty one, the only tensor.
StoredTensor open_tensor(const TensorFile& file, const std::string& key);

/// Writes a matrix of rows x cols, whose entries are given row by row, as a .npy file (version 1.0, '<f8' or '<f4', row-major),
/// atomically. Throws Failure as write_file_atomically does.
void write_npy(const std::string& path, std::uint64_t rows, std::uint64_t cols, std::span<const double> entries);
void write_npy(const std::string& path, std::uint64_t rows, std::uint64_t cols, std::span<const float> entries);

}  // namespace ranklab
