// The Gram matrix of an activation in a file, and a sketch of its samples, read a block at a time.
#pragma once

#include <armadillo>
#include <cstdint>
#include <limits>

#include "io/tensors/stored_tensor.hpp"
#include "run/trials.hpp"

namespace ranklab::files {

/// Entries that are infinite or NaN, and where the first in row-major order stands (counted from 0, as numpy counts).
struct NonFinite {
  double count = 0;
  double row = std::numeric_limits<double>::infinity(), column = row;

  void include(const NonFinite& other);
};

/// A block as a matrix, with what is odd about it; entries count from the whole's first.
struct Piece {
  arma::mat block;
  double largest_modulus = 0;  // of its finite entries
  NonFinite non_finite;
};
Piece looked_through(const StoredBlock& stored);

struct StreamedGram {
  arma::mat gram;              // A A' or, where n < k, A' A of A / divisor; symmetric; meaningless where entries are not finite
  double largest_modulus = 0;  // of A's finite entries
  NonFinite non_finite;
  arma::mat sketch;  // 3 x samples: two fixed random projections of each sample of A / divisor, and its squared norm
};

/// Features first_feature ... first_feature + features - 1 of an activation as it is stored: k x n, or n x k.
struct StoredActivation {
  StoredTensor tensor;
  bool samples_are_rows = false;
  std::uint64_t first_feature = 0, features = samples_are_rows ? tensor.cols() : tensor.rows();

  std::uint64_t samples() const { return samples_are_rows ? tensor.rows() : tensor.cols(); }
  std::uint64_t rows() const { return samples_are_rows ? samples() : features; }
  std::uint64_t cols() const { return samples_are_rows ? features : samples(); }
  /// Rows and columns of the part of these features, as they are stored.
  StoredBlock block(std::uint64_t first_row, std::uint64_t row_count, std::uint64_t first_col, std::uint64_t col_count) const {
    return tensor.block(first_row + (samples_are_rows ? 0 : first_feature), row_count,
                        first_col + (samples_are_rows ? first_feature : 0), col_count);
  }
};

/// Reads A once, a block at a time, so that its memory is that of the smaller side squared. The blocks and the order of all sums
/// depend on A's shape alone: the bits do not depend on the threads. Throws as StoredTensor does, and Interrupted.
StreamedGram streamed_gram(const StoredActivation& A, double divisor, const Trial& trial);

/// Memory of streamed_gram for a matrix of this shape, in bytes.
double streamed_gram_bytes(std::uint64_t rows, std::uint64_t cols);

/// How many samples are one and the same vector other than zero, to 1e-3 of the samples' distance from their mean: the largest such
/// group.
std::uint64_t most_alike(const arma::mat& sketch);

}  // namespace ranklab::files
