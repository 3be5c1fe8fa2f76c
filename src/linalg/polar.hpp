// The polar factor of a matrix: the direction of a spectral gradient step.
#pragma once

#include <armadillo>
#include <cstdint>

namespace ranklab {

/// What polar_factor returns for a G of shape m x n.
template <class T>
struct Polar {
  arma::Mat<T> factor;      // m x n: the sum of u_i v_i' over the singular values kept
  double nuclear_norm = 0;  // ||G||_*, all singular values
  std::uint64_t rank = 0;   // number of singular values kept
  int iterations = 0;       // steps of the fast route, 0 where the decomposition was taken
};

/// [Spectral] Section 1.2: polar(G) = U V' of the thin singular value decomposition; for a singular G the partial isometry
/// over the singular values above relative_tolerance * s_1. A negative tolerance means max(m, n) * epsilon of T.
/// A zero matrix has the zero factor. Throws Failure for non-finite entries.
///
/// A matrix that is certainly well-conditioned takes a faster route, which agrees with the decomposition's factor and nuclear
/// norm to tolerance::polar_agreement. Deterministic: the same matrix gives the same bytes with the same BLAS.
template <class T>
Polar<T> polar_factor(const arma::Mat<T>& G, double relative_tolerance = -1.0);

}  // namespace ranklab
