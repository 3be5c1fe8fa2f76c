// The Gram matrix of a stored matrix, read a block at a time, so that its memory is that of the smaller side squared.
#pragma once

#include <armadillo>
#include <cstdint>

#include "io/tensors/tensor_file.hpp"
#include "run/trials.hpp"

namespace ranklab {

/// Entries that are infinite or NaN, and where the first in row-major order stands (counted from 0, as numpy counts).
struct NonFinite {
  std::uint64_t count = 0, row = 0, column = 0;

  /// Includes those of a block whose first entry stands at (first_row, first_column) of the whole.
  void include(const arma::mat& block, std::uint64_t first_row, std::uint64_t first_column);
  void include(const NonFinite& other);
};

struct StreamedGram {
  arma::mat gram;  // A A' or A' A of A / divisor, whichever is smaller; symmetric; meaningless where entries are not finite
  double largest_modulus = 0;  // of A's finite entries
  NonFinite non_finite;
};

/// Reads A once. The blocks and the order of all sums depend on A's shape alone: the bits do not depend on the threads.
/// Throws as StoredTensor does, and Interrupted.
StreamedGram streamed_gram(const StoredTensor& A, double divisor, const Trial& trial);

/// Memory of streamed_gram for a matrix of this shape, in bytes.
double streamed_gram_bytes(std::uint64_t rows, std::uint64_t cols);

}  // namespace ranklab
