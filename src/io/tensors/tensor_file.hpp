// Tensors in files of other programs: .npy, .npz and .safetensors, read as strictly as their
// formats are defined.
//
// Files are not trusted: every size is checked before memory is allocated for it. Error messages
// name the file, the key and what is wrong.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "io/tensors/stored_tensor.hpp"

namespace ranklab {

class TensorReader;

/// A file of tensors. A .npy file has one key, which is empty.
class TensorFile {
 public:
  /// Opens by the ending of the name: .npy, .npz or .safetensors. Checks the whole structure, but
  /// not the entries. Throws Failure that names the file and what is wrong; for pickled objects
  /// (.npy of dtype object, .pt, .pth, .bin) it says how to convert them.
  static TensorFile open(const std::string& path);

  const std::string& path() const { return path_; }
  /// The "__metadata__" of a .safetensors file; empty for other files.
  const std::map<std::string, std::string>& metadata() const;
  /// In the order of the file.
  std::vector<std::string> keys() const;
  bool has(const std::string& key) const;
  /// Throws Failure that names the file, the key and the keys of the file (the nearest first, at
  /// most ten). A compressed .npz member is inflated, and a stored one is checked against its
  /// checksum, when its entries are first read; otherwise entries are read in place.
  StoredTensor tensor(const std::string& key) const;

 private:
  TensorFile(std::string path, std::shared_ptr<const TensorReader> reader);

  std::string path_;
  std::shared_ptr<const TensorReader> reader_;
};

/// "FILE.npz:key", "FILE.safetensors:key" or "FILE.npy", split into file and key. The key follows
/// the last ".npz:" or ".safetensors:". It may be missing (`key` is empty then) for an archive that
/// contains one tensor.
struct TensorAddress {
  std::string path, key;
};
TensorAddress parse_tensor_address(const std::string& text);

/// The tensor at an address. Throws Failure as TensorFile does, and if the key is missing but the
/// archive has several tensors.
StoredTensor open_tensor(const std::string& address);
/// As above for an open file: the tensor of a key or, for an empty key, the only tensor.
StoredTensor open_tensor(const TensorFile& file, const std::string& key);

}  // namespace ranklab
