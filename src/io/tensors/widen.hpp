// Entries of a stored tensor as doubles or floats.
#pragma once

#include <cstdint>

#include "io/tensors/tensor_file.hpp"

namespace ranklab {

/// A matrix as it is stored, of rows x cols, and the block of it that is wanted.
struct StoredBlock {
  std::uint64_t rows, cols;
  std::uint64_t first_row, row_count;
  std::uint64_t first_col, col_count;
};

/// The block, widened, to `out` column by column (row_count x col_count).
void widen_block(const StoredTensor::Layout& layout, const StoredBlock& block, double* out);

/// The first `count` entries in the order in which they lie, as T (double or float), to `out`.
template <class T>
void widen_entries(const StoredTensor::Layout& layout, std::uint64_t count, T* out);

}  // namespace ranklab
