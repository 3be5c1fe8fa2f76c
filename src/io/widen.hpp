// Blocks of a stored matrix as doubles.
#pragma once

#include <cstdint>

#include "io/tensor_file.hpp"

namespace ranklab {

/// A matrix as it is stored, of rows x cols, and the block of it that is wanted.
struct StoredBlock {
  std::uint64_t rows, cols;
  std::uint64_t first_row, row_count;
  std::uint64_t first_col, col_count;
};

/// The block, widened, to `out` column by column (row_count x col_count).
void widen_block(const StoredTensor::Layout& layout, const StoredBlock& block, double* out);

}  // namespace ranklab
