// The ranks of one activation and of one gradient, from their files.
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
};

/// Reads A once, a block at a time, so that its memory is that of the smaller side squared. The blocks and the order of all sums
/// depend on A's shape alone: the bits do not depend on the threads. Throws as StoredTensor does, and Interrupted.
StreamedGram streamed_gram(const StoredTensor& A, double divisor, const Trial& trial);

/// Memory of streamed_gram for a matrix of this shape, in bytes.
double streamed_gram_bytes(std::uint64_t rows, std::uint64_t cols);

/// [Spectral] Section 1.1: st(A) = ||A||_F^2 / ||A||_op^2 from the smaller Gram matrix, accumulated in double over blocks of A, to
/// a relative error of about 1e-12. Transposing A changes nothing. Throws as StoredTensor does, and Interrupted.
Ranks measure_activation(const StoredTensor& A, const Trial& trial);

/// [Spectral] eq. (1.5): nr(G) = ||G||_*^2 / ||G||_F^2, and st(G), of rows first ... first + count - 1, from their singular values:
/// a Gram matrix would lose the small ones, which add up. Throws likewise.
Ranks measure_gradient(const StoredTensor& G, std::uint64_t first, std::uint64_t count, const Trial& trial);

}  // namespace ranklab::files
