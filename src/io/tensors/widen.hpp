// Converts entries of a stored tensor to doubles or floats.
#pragma once

#include <cstdint>

#include "io/tensors/tensor_layout.hpp"

namespace ranklab {

/// Writes the block (row_count x col_count) as doubles to `out`, column by column.
void widen_block(const StoredBlock& block, double* out);

/// Writes the first `count` entries, in storage order, as T (double or float) to `out`.
template <class T>
void widen_entries(const TensorLayout& layout, std::uint64_t count, T* out);

}  // namespace ranklab
