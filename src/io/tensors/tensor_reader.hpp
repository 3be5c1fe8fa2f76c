// What a file format provides to TensorFile, and what the readers share.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "io/tensors/mapped_file.hpp"
#include "io/tensors/tensor_file.hpp"

namespace ranklab {

/// The tensors of one open file. Immutable, so safe from several threads.
class TensorFile::Reader {
 public:
  virtual ~Reader() = default;
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  const std::vector<std::string>& keys() const { return keys_; }
  /// The index of a key, or keys().size() where it is missing.
  std::size_t find(const std::string& key) const;
  /// The tensor of keys()[index]. Throws Failure for a type that is not read, and for what only its bytes can show.
  virtual StoredTensor tensor(std::size_t index) const = 0;

 protected:
  Reader() = default;
  /// Appends a key; false where there is one like it.
  bool add_key(const std::string& key);

 private:
  std::vector<std::string> keys_;
  std::unordered_map<std::string, std::size_t> index_;
};

/// Each reads the structure of one format. `label` is the path as messages show it. Throws Failure.
std::shared_ptr<const TensorFile::Reader> read_npy(std::shared_ptr<const MappedFile> file, const std::string& label);
std::shared_ptr<const TensorFile::Reader> read_npz(std::shared_ptr<const MappedFile> file, const std::string& label);
std::shared_ptr<const TensorFile::Reader> read_safetensors(std::shared_ptr<const MappedFile> file, const std::string& label);

/// Entries of a tensor; false where the number does not fit 63 bits, whatever zeros stand among the dimensions.
bool count_elements(const std::vector<std::uint64_t>& shape, std::uint64_t& elements);

/// "4096 x 128"; "scalar" without a dimension; long shapes are cut.
std::string shape_to_text(const std::vector<std::uint64_t>& shape);

/// A name out of a file as messages show it: escaped, and cut where it is long.
std::string printable_key(const std::string& key);

}  // namespace ranklab
