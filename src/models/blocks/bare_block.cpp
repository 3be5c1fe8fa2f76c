#include "models/blocks/bare_block.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ranklab {
namespace {

// 2^exponent Y, entry by entry. Beyond a million every entry is 0 or infinite anyway; fmin and fmax pass over a NaN.
template <class T>
void multiply_by_power(arma::Mat<T>& Y, double exponent) {
  constexpr double beyond = 1e6;
  const int power = static_cast<int>(std::fmax(-beyond, std::fmin(beyond, exponent)));
  if (power != 0) Y.for_each([power](T& y) { y = std::ldexp(y, power); });
}

}  // namespace

// Y <- norm(M Y C_V + lambda Y). Of the powers of two before the two terms, the larger moves into the state's scale, so that
// the sum neither overflows nor vanishes as a whole; a term that is zero has no say in it.
template <class T>
void BareBlock<T>::forward(State<T>& state, double lambda) const {
  Mixed<T> mixed = mix(state);
  double larger = lambda == 0 ? mixed.log2_factor : std::max(mixed.log2_factor, 0.0);
  if (mixed.Y.is_zero()) larger = 0;
  state.Y *= static_cast<T>(lambda);
  multiply_by_power(state.Y, -larger);
  multiply_by_power(mixed.Y, mixed.log2_factor - larger);
  state.Y += mixed.Y;
  state.log2_scale += larger;
  normalise(norm_, state);
  if (norm_ == Norm::none) rescale(state);
  if (!std::isfinite(state.log2_scale)) state.Y.fill(std::numeric_limits<T>::quiet_NaN());
}

template class BareBlock<float>;
template class BareBlock<double>;

}  // namespace ranklab
