// The polar factor of a matrix: the direction of a spectral gradient step.
#pragma once

#include <armadillo>
#include <cstdint>

namespace ranklab {

/// The result of polar_factor for a G of shape m x n.
template <class T>
struct Polar {
  arma::Mat<T> factor;      // m x n: the sum of u_i v_i' over the singular values kept
  double nuclear_norm = 0;  // ||G||_*, all singular values
  std::uint64_t rank = 0;   // number of singular values kept
  int iterations = 0;       // steps of the fast route, 0 if the SVD was used
};

/// [Spectral] Section 1.2: polar(G) = U V' of the thin singular value decomposition. For a singular
/// G, it is the partial isometry over the singular values above relative_tolerance * s_1. A
/// negative tolerance means max(m, n) * epsilon of T. The factor of a zero matrix is zero. Throws
/// Failure for non-finite entries.
///
/// A matrix that is certainly well-conditioned takes a faster route, whose factor and nuclear norm
/// agree with those of the decomposition to tolerance::polar_agreement. Deterministic: the same
/// matrix gives the same bytes with the same BLAS.
template <class T>
Polar<T> polar_factor(const arma::Mat<T>& G, double relative_tolerance = -1.0);

/// The polar factor of a matrix that is not square, by products only: faster than polar_factor, and
/// as accurate. Uses polar_factor if the condition number exceeds about 1e7.
arma::mat polar_factor_of_long(const arma::mat& G);

}  // namespace ranklab
