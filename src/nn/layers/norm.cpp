#include "nn/layers/norm.hpp"

#include <stdexcept>

namespace ranklab {

Norm trainable(Norm kind) {
  if (kind != Norm::rms && kind != Norm::layer)
    throw std::logic_error("only rms and layer norms can be trained");
  return kind;
}

template <class T>
void normalize(Norm kind, double epsilon, const arma::Mat<T>& X, NormPass<T>& pass) {
  trainable(kind);
  pass.A.set_size(X.n_rows, X.n_cols);
  pass.inverse.set_size(X.n_cols);
  with_width(X.n_rows, [&](const auto d) {
    for (arma::uword n = 0; n < X.n_cols; ++n) {
      pass.inverse[n] = normalize(kind == Norm::layer, X.memptr() + n * d, d,
                                  static_cast<T>(epsilon), pass.A.memptr() + n * d);
    }
  });
}

template <class T>
void normalize_backward(Norm kind, const NormPass<T>& pass, const arma::Mat<T>& dA,
                        arma::Mat<T>& dX) {
  trainable(kind);
  with_width(dA.n_rows, [&](const auto d) {
    for (arma::uword n = 0; n < dA.n_cols; ++n) {
      normalize_backward(kind == Norm::layer, pass.A.memptr() + n * d, pass.inverse[n],
                         dA.memptr() + n * d, d, dX.memptr() + n * d);
    }
  });
}

template void normalize<float>(Norm, double, const arma::fmat&, NormPass<float>&);
template void normalize<double>(Norm, double, const arma::mat&, NormPass<double>&);
template void normalize_backward<float>(Norm, const NormPass<float>&, const arma::fmat&,
                                        arma::fmat&);
template void normalize_backward<double>(Norm, const NormPass<double>&, const arma::mat&,
                                         arma::mat&);

}  // namespace ranklab
