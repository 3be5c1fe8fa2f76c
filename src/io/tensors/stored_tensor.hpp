// One tensor of a file. Entries are converted one block of columns or rows at a time, so memory is
// needed only for the part that is read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/tensors/tensor_layout.hpp"

namespace ranklab {

/// Copies share the file, which stays open while any copy exists. Reading is safe from several
/// threads. Only TensorFile creates these.
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

  /// The rows and columns of a matrix. Throws Failure that gives the shape if the tensor is not a
  /// matrix.
  std::uint64_t rows() const;
  std::uint64_t cols() const;

  /// Columns first ... first + count - 1 of a matrix (rows x count), to be converted by matrix_of
  /// in linalg. Throws Failure if the tensor is not a matrix, std::logic_error for columns that do
  /// not exist.
  StoredBlock columns(std::uint64_t first, std::uint64_t count) const;
  /// Rows first ... first + count - 1 of a matrix (count x cols); throws likewise.
  StoredBlock rows(std::uint64_t first, std::uint64_t count) const;
  /// Those rows of those columns; throws likewise.
  StoredBlock block(std::uint64_t first_row, std::uint64_t row_count, std::uint64_t first_col,
                    std::uint64_t col_count) const;

  /// The tensor of all entries whose first index is `index` (from 0). Throws Failure if there is no
  /// such index, and for a tensor of three or more dimensions that is stored column by column.
  StoredTensor at(std::uint64_t index) const;
  /// The same entries, in row-major order, as rows x columns, whose product must be elements();
  /// throws likewise.
  StoredTensor as_matrix(std::uint64_t rows, std::uint64_t columns) const;
  /// All entries of a tensor of any shape in row-major order, as doubles (integers beyond 2^53 lose
  /// digits).
  std::vector<double> values() const;
  /// Writes all elements() entries in row-major order to `out`, rounded to float if that is
  /// narrower; fast for tensors stored row by row.
  void copy_to(double* out) const;
  void copy_to(float* out) const;

 private:
  void require_row_major(const std::string& what) const;

  TensorLayout layout_;
};

}  // namespace ranklab
