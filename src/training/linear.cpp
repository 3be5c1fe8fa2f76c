#include "training/linear.hpp"

#include <algorithm>

#include "training/product.hpp"

namespace ranklab {
namespace {

/// Tokens to multiply at once: with small maps so few that a product stays below the 100^3 multiplications up to which OpenBLAS
/// does not copy its matrices first (1.3 to 1.7 times as fast at d = 32 and 64); with large ones all.
arma::uword tokens_at_once(arma::uword out, arma::uword in, arma::uword tokens) {
  constexpr arma::uword largest = 600'000, fewest = 32, most = 128;
  const arma::uword tile = std::min(largest / (out * in), most);
  return tile < fewest ? std::max<arma::uword>(tokens, 1) : tile;
}

/// Y = W X, or that added to Y.
template <class T>
void multiply(const arma::Mat<T>& W, const arma::Mat<T>& X, arma::Mat<T>& Y, bool add) {
  const arma::uword out = W.n_rows, in = W.n_cols, N = X.n_cols, tile = tokens_at_once(out, in, N);
  if (!add) Y.set_size(out, N);
  for (arma::uword n = 0; n < N; n += tile) {
    product(CblasNoTrans, CblasNoTrans, out, std::min(tile, N - n), in, T(1), W.memptr(), out, X.colptr(n), in, Y.colptr(n), out,
            add ? T(1) : T(0));
  }
}

}  // namespace

template <class T>
void linear(const Parameter<T>& W, const arma::Mat<T>& X, arma::Mat<T>& Y, bool add) {
  multiply(W.W, X, Y, add);
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
  // Transposed once: OpenBLAS is half as fast with a transposed factor in small products.
  const arma::Mat<T> transposed = W.W.t();
  multiply(transposed, dY, dX, add);
}

#define RANKLAB_LINEAR(T)                                                                         \
  template void linear(const Parameter<T>&, const arma::Mat<T>&, arma::Mat<T>&, bool);            \
  template void linear_backward_weights(Parameter<T>&, const arma::Mat<T>&, const arma::Mat<T>&); \
  template void linear_backward_inputs(const Parameter<T>&, const arma::Mat<T>&, arma::Mat<T>&, bool);
RANKLAB_LINEAR(float)
RANKLAB_LINEAR(double)
#undef RANKLAB_LINEAR

}  // namespace ranklab
