// Tensors in files that others wrote: .npy, .npz and .safetensors, read as strictly as their formats are defined.
//
// A file is mapped or inflated, never trusted: every size is checked before memory is taken for it, and a message names the
// file, the key and what is wrong. Entries are widened to double a block of columns at a time, so that a matrix needs memory
// for what is read of it, not for the whole.
#pragma once

#include <armadillo>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ranklab {

class MappedFile;

/// Type of the entries as stored. Integers are there for token ids; no other type of the formats is read.
enum class Dtype { f64, f32, f16, bf16, i64, i32, i16, i8, u64, u32, u16, u8, boolean };

/// "F32", as safetensors spells it.
std::string dtype_name(Dtype dtype);
std::uint64_t dtype_bytes(Dtype dtype);

/// One tensor of an open file. Copies share the file, which stays open while one lives; reading is safe from several threads.
class StoredTensor {
 public:
  /// Where the bytes are and how they lie; made by TensorFile alone.
  struct Layout {
    std::string label;  // "grads.npz:layer1", escaped, for messages
    Dtype dtype = Dtype::f32;
    std::vector<std::uint64_t> shape;  // empty: one number
    bool column_major = false;         // numpy's fortran_order; otherwise row by row
    bool big_endian = false;
    const unsigned char* data = nullptr;
    std::shared_ptr<const void> keeper;  // of the bytes: the mapped file, or the inflated member
    const MappedFile* file = nullptr;    // the keeper, where it is a mapped file
  };
  explicit StoredTensor(Layout layout);

  const std::string& label() const;
  Dtype dtype() const;
  const std::vector<std::uint64_t>& shape() const;
  bool is_matrix() const { return shape().size() == 2; }
  /// "4096 x 128".
  std::string shape_text() const;
  std::uint64_t elements() const;

  /// The rows and columns of a matrix, as its shape says. Throws Failure that names the shape for anything else.
  std::uint64_t rows() const;
  std::uint64_t cols() const;

  /// Columns first ... first + count - 1 of a matrix (rows x count), widened. Entries may be infinite or NaN.
  /// Throws Failure for what is not a matrix, std::logic_error for columns that it does not have.
  arma::mat columns(std::uint64_t first, std::uint64_t count) const;
  /// Rows first ... first + count - 1 of a matrix (count x cols), widened; throws likewise.
  arma::mat rows(std::uint64_t first, std::uint64_t count) const;
  /// The whole matrix.
  arma::mat matrix() const;
  /// All entries in row-major order, of a tensor of any shape, as doubles (integers beyond 2^53 lose digits).
  std::vector<double> values() const;
  /// All entries in row-major order to `out` (elements() of them), rounded to float where that is narrower; fast for what is
  /// stored row by row.
  void copy_to(double* out) const;
  void copy_to(float* out) const;

 private:
  Layout layout_;
};

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
  /// A compressed .npz member is inflated here, a stored one and every other format is used where it lies.
  StoredTensor tensor(const std::string& key) const;

  /// What a format's reader provides.
  class Reader;
  TensorFile(std::string path, std::shared_ptr<const Reader> reader);

 private:
  std::string path_;
  std::shared_ptr<const Reader> reader_;
};

/// "FILE.npz:key", "FILE.safetensors:key" or "FILE.npy" split into file and key; the key follows the last ".npz:" or
/// ".safetensors:". An archive without a key is allowed where it holds one tensor alone: then `key` is empty.
struct TensorAddress {
  std::string path, key;
};
TensorAddress parse_tensor_address(const std::string& text);

/// The tensor at an address. Throws Failure as TensorFile does, also for a missing key of an archive with several tensors.
StoredTensor open_tensor(const std::string& address);

/// Writes a matrix as a .npy file (version 1.0, '<f8' or '<f4', row-major), atomically. Throws Failure as
/// write_file_atomically does.
void write_npy(const std::string& path, const arma::mat& A);
void write_npy(const std::string& path, const arma::fmat& A);

}  // namespace ranklab
