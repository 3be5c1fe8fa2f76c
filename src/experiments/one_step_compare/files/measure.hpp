// The ranks of one activation and of one gradient, from their files, and whether the two can belong together.
#pragma once

#include <armadillo>
#include <cstdint>

#include "experiments/one_step_compare/files/files.hpp"
#include "io/tensors/stored_tensor.hpp"

namespace ranklab::files {

struct StreamedGram {
  arma::mat gram;  // A A' or A' A of A / divisor, whichever is smaller; symmetric; meaningless where entries are not finite
  double largest_modulus = 0;  // of A's finite entries
  NonFinite non_finite;
  arma::mat sketch;  // 3 x samples: two fixed random projections of each sample of A / divisor, and its squared norm
};

/// An activation as it is stored.
struct StoredActivation {
  const StoredTensor& tensor;
  bool samples_are_rows = false;

  std::uint64_t features() const { return samples_are_rows ? tensor.cols() : tensor.rows(); }
  std::uint64_t samples() const { return samples_are_rows ? tensor.rows() : tensor.cols(); }
};

/// Reads A once, a block at a time, so that its memory is that of the smaller side squared. The blocks and the order of all sums
/// depend on A's shape alone: the bits do not depend on the threads. Throws as StoredTensor does, and Interrupted.
StreamedGram streamed_gram(const StoredActivation& A, double divisor, const Trial& trial);

/// Memory of streamed_gram for a matrix of this shape, in bytes.
double streamed_gram_bytes(std::uint64_t rows, std::uint64_t cols);

struct MeasuredActivation {
  Ranks ranks;
  StreamedGram read;  // of A / divisor
  double divisor = 1.0;
  arma::vec diagonal;  // of A A', where that is diagonal and not in `read`; otherwise empty
};

/// [Spectral] Section 1.1: st(A) = ||A||_F^2 / ||A||_op^2 from the smaller Gram matrix, accumulated in double over blocks of A, to
/// a relative error of about 1e-12. Transposing A changes nothing. Throws as StoredTensor does, and Interrupted.
MeasuredActivation measure_activation(const StoredActivation& A, const Trial& trial);

/// st(A) from A A', or from its diagonal where A A' is one. Throws Interrupted.
MeasuredActivation measure_second_moment(const StoredTensor& moment, const Trial& trial);

/// A gradient as it is stored: m x k, or k x m.
struct StoredGradient {
  const StoredTensor& tensor;
  bool transposed = false;
};

/// [Spectral] eq. (1.5): nr(G) = ||G||_*^2 / ||G||_F^2, and st(G), of rows first ... first + count - 1, from their singular values:
/// a Gram matrix would lose the small ones, which add up. Throws likewise.
Ranks measure_gradient(const StoredGradient& G, std::uint64_t first, std::uint64_t count, const Trial& trial);

/// How many samples are one and the same vector other than zero, to 1e-3 of its norm: the largest such group.
std::uint64_t most_alike(const arma::mat& sketch);

/// ||G - G P||_F / ||G||_F, where P projects on the span of the samples of A: 0 for a gradient G = E A' of the same samples. What
/// rounding leaves of A's rank counts as its span. NaN where it is not looked at: with a Gram matrix larger than 1024 and more
/// samples than features, where it could hardly be anything but 0, and for a G that is zero or not finite. Of a second
/// moment `A` is null.
double outside_span(const StoredActivation* A, const MeasuredActivation& measured, const StoredGradient& G, const Trial& trial);

}  // namespace ranklab::files
