#include "training/layers/linear.hpp"

#include <algorithm>

#include "training/layers/product.hpp"

namespace ranklab {
namespace {

/// Tokens that are summed at once into a gradient: with small maps so few that a product stays below the 100^3 multiplications
/// from which on OpenBLAS copies its matrices first; with large ones all.
arma::uword tokens_at_once(arma::uword out, arma::uword in, arma::uword tokens) {
  constexpr arma::uword largest = 600'000, fewest = 32, most = 128;
  const arma::uword tile = std::min(largest / (out * in), most);
  return tile < fewest ? std::max<arma::uword>(tokens, 1) : tile;
}

}  // namespace

template <class T>
void linear(const Parameter<T>& W, const arma::Mat<T>& X, arma::Mat<T>& Y, bool add) {
  const arma::uword out = W.W.n_rows, in = W.W.n_cols, N = X.n_cols;
  if (!add) Y.set_size(out, N);
  product(CblasNoTrans, CblasNoTrans, out, N, in, T(1), W.W.memptr(), out, X.memptr(), in, Y.memptr(), out, T(add));
}

template <class T>
void linear_backward_weights(Parameter<T>& W, const arma::Mat<T>& X, const arma::Mat<T>& dY) {
  const arma::uword out = dY.n_rows, in = X.n_rows, N = X.n_cols, tile = tokens_at_once(out, in, N);
  W.G.set_size(out, in);
  for (arma::uword n = 0; n < N; n += tile) {
    product(CblasNoTrans, CblasTrans, out, in, std::min(tile, N - n), T(1), dY.colptr(n), out, X.colptr(n), in, W.G.memptr(), out,
            n > 0 ? T(1) : T(0));
  }
}

template <class T>
void linear_backward_inputs(const Parameter<T>& W, const arma::Mat<T>& dY, arma::Mat<T>& dX, bool add) {
  const arma::uword out = W.W.n_rows, in = W.W.n_cols, N = dY.n_cols;
  if (!add) dX.set_size(in, N);
  product(CblasTrans, CblasNoTrans, in, N, out, T(1), W.W.memptr(), out, dY.memptr(), out, dX.memptr(), in, T(add));
}

#define RANKLAB_LINEAR(T)                                                                         \
  template void linear(const Parameter<T>&, const arma::Mat<T>&, arma::Mat<T>&, bool);            \
  template void linear_backward_weights(Parameter<T>&, const arma::Mat<T>&, const arma::Mat<T>&); \
  template void linear_backward_inputs(const Parameter<T>&, const arma::Mat<T>&, arma::Mat<T>&, bool);
RANKLAB_LINEAR(float)
RANKLAB_LINEAR(double)
#undef RANKLAB_LINEAR

}  // namespace ranklab
