#include "models/blocks/residual_stream.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ranklab {
namespace {

// Of Y's entries, far from the ends of the range of T on both sides.
constexpr double log2_largest = 40;
constexpr double largest_unscaled = 0x1p40, smallest_scaled = 0x1p-40;

template <class T>
double largest_entry(const arma::Mat<T>& Y) {
  return Y.is_empty() ? 0.0 : static_cast<double>(arma::abs(Y).max());
}

// Y <- lambda Y, and s back to what Y needs: a branch times 2^-s would be lost.
template <class T>
void shrink(State<T>& state, double lambda) {
  state.Y *= static_cast<T>(lambda);
  if (largest_entry(state.Y) == 0) state.log2_scale = 0.0;
  rescale(state);
  if (state.log2_scale <= log2_largest) unscale(state);
}

}  // namespace

template <class T>
double scaled_epsilon(double epsilon, const State<T>& state) {
  // A constant token is 0 / 0 without it; its root is a number of type T.
  constexpr double root = std::numeric_limits<T>::min(), smallest = std::numeric_limits<double>::min();
  return std::max({epsilon * std::exp2(-2 * state.log2_scale), root * root, smallest});
}

template <class T>
void add_branch(State<T>& state, double lambda, const arma::Mat<T>& branch) {
  if (state.log2_scale != 0.0 && std::fabs(lambda) * largest_entry(state.Y) < smallest_scaled) {
    shrink(state, lambda);
    lambda = 1.0;
  }
  const T unit = static_cast<T>(std::exp2(-state.log2_scale));
  state.Y = static_cast<T>(lambda) * state.Y + unit * branch;
}

template <class T>
void keep_in_range(State<T>& state) {
  if (largest_entry(state.Y) > largest_unscaled) rescale(state);
}

template double scaled_epsilon(double, const State<float>&);
template double scaled_epsilon(double, const State<double>&);
template void add_branch(State<float>&, double, const arma::Mat<float>&);
template void add_branch(State<double>&, double, const arma::Mat<double>&);
template void keep_in_range(State<float>&);
template void keep_in_range(State<double>&);

}  // namespace ranklab
