// A scalar product whose last bit does not depend on what is compiled beside it.
#pragma once

#include <armadillo>

namespace ranklab {

/// x'y. As arma::dot, but of short vectors always with fused multiplications. The compiler inlines
/// arma::dot, with them, or calls a copy without: that depends on the other functions in the unit.
inline double dot(const arma::vec& x, const arma::vec& y) {
  constexpr arma::uword longest = 32;  // OpenBLAS takes longer ones
  if (x.n_elem > longest) return arma::dot(x, y);
  double even = 0, odd = 0;
  arma::uword i = 0;
  for (; i + 1 < x.n_elem; i += 2) {
    even += x[i] * y[i];
    odd += x[i + 1] * y[i + 1];
  }
  if (i < x.n_elem) even += x[i] * y[i];
  return even + odd;
}

}  // namespace ranklab
