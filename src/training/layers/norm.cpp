#include "training/layers/norm.hpp"

#include <stdexcept>

namespace ranklab {
namespace {

void require_known(Norm kind) {
  if (kind != Norm::rms && kind != Norm::layer) throw std::logic_error("only rms and layer norms can be trained");
}

}  // namespace

template <class T>
void normalise(Norm kind, double epsilon, const arma::Mat<T>& X, NormPass<T>& pass) {
  require_known(kind);
  pass.A.set_size(X.n_rows, X.n_cols);
  pass.inverse.set_size(X.n_cols);
  with_width(X.n_rows, [&](const auto d) {
    for (arma::uword n = 0; n < X.n_cols; ++n) {
      const T* const u = X.memptr() + n * d;
      T* const a = pass.A.memptr() + n * d;
      const T centre = kind == Norm::layer ? sum_of(u, d) / static_cast<T>(d) : T(0);
      for (arma::uword i = 0; i < d; ++i) a[i] = u[i] - centre;
      pass.inverse[n] = rms_normalise(a, d, static_cast<T>(epsilon));
    }
  });
}

template <class T>
void normalise_backward(Norm kind, const NormPass<T>& pass, const arma::Mat<T>& dA, arma::Mat<T>& dX) {
  require_known(kind);
  with_width(dA.n_rows, [&](const auto d) {
    for (arma::uword n = 0; n < dA.n_cols; ++n) {
      const T *const a = pass.A.memptr() + n * d, *const g = dA.memptr() + n * d;
      T* const out = dX.memptr() + n * d;
      const T mean = kind == Norm::layer ? sum_of(g, d) / static_cast<T>(d) : T(0), along = product_of(a, g, d) / static_cast<T>(d),
              inverse = pass.inverse[n];
      for (arma::uword i = 0; i < d; ++i) out[i] += (g[i] - mean - a[i] * along) * inverse;
    }
  });
}

template void normalise<float>(Norm, double, const arma::fmat&, NormPass<float>&);
template void normalise<double>(Norm, double, const arma::mat&, NormPass<double>&);
template void normalise_backward<float>(Norm, const NormPass<float>&, const arma::fmat&, arma::fmat&);
template void normalise_backward<double>(Norm, const NormPass<double>&, const arma::mat&, arma::mat&);

}  // namespace ranklab
