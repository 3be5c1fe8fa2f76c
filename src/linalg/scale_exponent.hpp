// Scaling by a power of two, which is exact.
#pragma once

#include <armadillo>

#include <cmath>

namespace ranklab {

/// The exponent of the power of two that scales the largest modulus into [1, 2) if divided by; 0
/// for a matrix of zeros, or with a largest modulus that is not finite.
template <class T>
int scale_exponent(const arma::Mat<T>& A) {
  const T largest = A.is_empty() ? T(0) : arma::abs(A).max();
  return largest > 0 && std::isfinite(largest) ? std::ilogb(largest) : 0;
}

}  // namespace ranklab
