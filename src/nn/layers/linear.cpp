#include "nn/layers/linear.hpp"

#include "linalg/product.hpp"

namespace ranklab {

template <class T>
void linear(const Parameter<T>& W, const arma::Mat<T>& X, arma::Mat<T>& Y, bool add) {
  const arma::uword out = W.W.n_rows, in = W.W.n_cols, N = X.n_cols;
  if (!add) Y.set_size(out, N);
  product(CblasNoTrans, CblasNoTrans, out, N, in, T(1), W.W.memptr(), out, X.memptr(), in,
          Y.memptr(), out, T(add));
}

template <class T>
void linear_backward_weights(Parameter<T>& W, const arma::Mat<T>& X, const arma::Mat<T>& dY) {
  const arma::uword out = dY.n_rows, in = X.n_rows, N = X.n_cols;
  product(CblasNoTrans, CblasTrans, out, in, N, T(1), dY.memptr(), out, X.memptr(), in,
          W.G.memptr(), out, T(1));
  if (!W.error_moment) return;
  const arma::mat errors = arma::conv_to<arma::mat>::from(dY);
  *W.error_moment += errors * errors.t();
}

template <class T>
void linear_backward_inputs(const Parameter<T>& W, const arma::Mat<T>& dY, arma::Mat<T>& dX,
                            bool add) {
  const arma::uword out = W.W.n_rows, in = W.W.n_cols, N = dY.n_cols;
  if (!add) dX.set_size(in, N);
  product(CblasTrans, CblasNoTrans, in, N, out, T(1), W.W.memptr(), out, dY.memptr(), out,
          dX.memptr(), in, T(add));
}

#define RANKLAB_LINEAR(T)                                                                         \
  template void linear(const Parameter<T>&, const arma::Mat<T>&, arma::Mat<T>&, bool);            \
  template void linear_backward_weights(Parameter<T>&, const arma::Mat<T>&, const arma::Mat<T>&); \
  template void linear_backward_inputs(const Parameter<T>&, const arma::Mat<T>&, arma::Mat<T>&,   \
                                       bool);
RANKLAB_LINEAR(float)
RANKLAB_LINEAR(double)
#undef RANKLAB_LINEAR

}  // namespace ranklab
