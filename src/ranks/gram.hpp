// The Gram matrix of an activation in a file, read block by block.
#pragma once

#include <armadillo>
#include <cstdint>
#include <limits>

#include "io/tensors/stored_tensor.hpp"
#include "run/trials.hpp"

namespace ranklab::ranks {

/// The number of infinite or NaN entries, and the first of them in row-major order (counted from 0,
/// as in numpy).
struct NonFinite {
  double count = 0;
  double row = std::numeric_limits<double>::infinity(), column = row;

  void include(const NonFinite& other);
};

/// A block as a matrix, with its largest modulus and its non-finite entries. Rows and columns of
/// NonFinite count from the first of the whole matrix.
struct Piece {
  arma::mat block;
  double largest_modulus = 0;  // of its finite entries
  NonFinite non_finite;
};
Piece scan_block(const StoredBlock& stored);

struct StreamedGram {
  arma::mat gram;  // A A' of A / divisor, or A' A if n < k; symmetric; meaningless if any entry is
                   // not finite
  double largest_modulus = 0;  // of A's finite entries
  NonFinite non_finite;
};

/// A stored activation, k x n or n x k.
struct StoredActivation {
  StoredTensor tensor;
  bool samples_are_rows = false;

  std::uint64_t features() const { return samples_are_rows ? tensor.cols() : tensor.rows(); }
  std::uint64_t samples() const { return samples_are_rows ? tensor.rows() : tensor.cols(); }
};

/// Reads A once, block by block, so memory grows with the square of the smaller side. The blocks
/// and the order of all sums depend only on A's shape, so the result does not depend on the number
/// of threads. Throws as StoredTensor does, and Interrupted.
StreamedGram streamed_gram(const StoredActivation& A, double divisor, const Trial& trial);

/// Memory of streamed_gram, in bytes.
double streamed_gram_bytes(std::uint64_t features, std::uint64_t samples);

}  // namespace ranklab::ranks
