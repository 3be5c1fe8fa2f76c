// The ranks of one activation and of one gradient, from their files.
#pragma once

#include <cstdint>
#include <string>

#include "experiments/one_step_compare/files/gram.hpp"
#include "io/tensors/tensor_file.hpp"
#include "run/trials.hpp"

namespace ranklab {

struct ActivationRank {
  double stable_rank = 0.0;  // st(A); NaN of a zero matrix and where an entry is not finite
  NonFinite non_finite;
};

struct GradientRank {
  double nuclear_rank = 0.0, stable_rank = 0.0;  // nr(G), st(G); NaN likewise
  NonFinite non_finite;                          // its row counts from the gradient's first, not the block's
};

/// [Spectral] Section 1.1: st(A) = ||A||_F^2 / ||A||_op^2 from the smaller Gram matrix, accumulated in double over blocks of A, to
/// a relative error of about 1e-12. Transposing A changes nothing. Throws as StoredTensor does, and Interrupted.
ActivationRank measure_activation(const StoredTensor& A, const Trial& trial);

/// [Spectral] eq. (1.5): nr(G) = ||G||_*^2 / ||G||_F^2 of rows first ... first + count - 1, from their singular values: a Gram
/// matrix would lose the small ones, which add up. Throws likewise.
GradientRank measure_gradient(const StoredTensor& G, std::uint64_t first, std::uint64_t count, const Trial& trial);

/// Why there is no rank, for a list of what was left out.
std::string undefined_reason(const std::string& what, const NonFinite& non_finite);

}  // namespace ranklab
