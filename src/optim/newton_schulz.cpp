#include "optim/newton_schulz.hpp"

namespace ranklab {

template <class T>
arma::Mat<T> newton_schulz(const arma::Mat<T>& G, int steps, const NewtonSchulzCoefficients& coefficients) {
  const T a = static_cast<T>(coefficients.a), b = static_cast<T>(coefficients.b), c = static_cast<T>(coefficients.c);
  constexpr T guard = T(1e-7);  // Muon's, against division by zero
  const T norm = G.is_empty() ? T(0) : arma::norm(arma::vectorise(G), 2);
  // With no more rows than columns, so that the products X X' are the small ones.
  const bool tall = G.n_rows > G.n_cols;
  arma::Mat<T> X = G / (norm + guard);
  if (tall) arma::inplace_trans(X);
  for (int i = 0; i < steps; ++i) {
    const arma::Mat<T> S = X * X.t();
    const arma::Mat<T> P = b * S + c * (S * S);
    X = a * X + P * X;
  }
  if (tall) arma::inplace_trans(X);
  return X;
}

template arma::fmat newton_schulz<float>(const arma::fmat&, int, const NewtonSchulzCoefficients&);
template arma::mat newton_schulz<double>(const arma::mat&, int, const NewtonSchulzCoefficients&);

}  // namespace ranklab
