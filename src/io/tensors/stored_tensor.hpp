// One tensor of a file, whose entries are widened a block of columns or rows at a time, so that a matrix needs memory for what
// is read of it, not for the whole.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/tensors/tensor_layout.hpp"

namespace ranklab {

/// Copies share the file, which stays open while one lives; reading is safe from several threads. Made by TensorFile alone.
class StoredTensor {
 public:
  explicit StoredTensor(TensorLayout layout);

  const std::string& label() const { return layout_.label; }
  Dtype dtype() const { return layout_.dtype; }
  const std::vector<std::uint64_t>& shape() const { return layout_.shape; }
  bool is_matrix() const { return shape().size() == 2; }
  /// "4096 x 128".
  std::string shape_text() const { return shape_to_text(layout_.shape); }
  std::uint64_t elements() const;

  /// The rows and columns of a matrix, as its shape says. Throws Failure that names the shape for anything else.
  std::uint64_t rows() const;
  std::uint64_t cols() const;

  /// Columns first ... first + count - 1 of a matrix (rows x count), to be widened; as a matrix by matrix_of in linalg.
  /// Throws Failure for what is not a matrix, std::logic_error for columns that it does not have.
  StoredBlock columns(std::uint64_t first, std::uint64_t count) const;
  /// Rows first ... first + count - 1 of a matrix (count x cols); throws likewise.
  StoredBlock rows(std::uint64_t first, std::uint64_t count) const;
  /// Those rows of those columns; throws likewise.
  StoredBlock block(std::uint64_t first_row, std::uint64_t row_count, std::uint64_t first_col, std::uint64_t col_count) const;

  /// The tensor of all entries whose first index is `index` (from 0). Throws Failure for what has no such index, and for a tensor
  /// of three dimensions and more that is stored column by column.
  StoredTensor at(std::uint64_t index) const;
  /// The same entries in row-major order as rows x columns, whose product is elements(); throws likewise.
  StoredTensor as_matrix(std::uint64_t rows, std::uint64_t columns) const;
  /// All entries in row-major order, of a tensor of any shape, as doubles (integers beyond 2^53 lose digits).
  std::vector<double> values() const;
  /// All entries in row-major order to `out` (elements() of them), rounded to float where that is narrower; fast for what is
  /// stored row by row.
  void copy_to(double* out) const;
  void copy_to(float* out) const;

 private:
  void require_row_major(const std::string& what) const;

  TensorLayout layout_;
};

}  // namespace ranklab
