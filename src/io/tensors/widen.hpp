// Entries of a stored tensor as doubles or floats.
#pragma once

#include <cstdint>

#include "io/tensors/tensor_layout.hpp"

namespace ranklab {

/// The block, widened, to `out` column by column (row_count x col_count).
void widen_block(const StoredBlock& block, double* out);

/// The first `count` entries in the order in which they lie, as T (double or float), to `out`.
template <class T>
void widen_entries(const TensorLayout& layout, std::uint64_t count, T* out);

}  // namespace ranklab
