#include "nn/optimizers/newton_schulz.hpp"

#include "linalg/product.hpp"

namespace ranklab {

template <class T>
arma::Mat<T> newton_schulz(const arma::Mat<T>& G, int steps,
                           const NewtonSchulzCoefficients& coefficients) {
  const T a = static_cast<T>(coefficients.a), b = static_cast<T>(coefficients.b),
          c = static_cast<T>(coefficients.c);
  constexpr T guard = T(1e-7);  // Muon's value, against division by zero
  const T norm = G.is_empty() ? T(0) : arma::norm(arma::vectorise(G), 2);
  // Transpose tall matrices, so that X X' is the smaller product.
  const bool tall = G.n_rows > G.n_cols;
  arma::Mat<T> X = G / (norm + guard);
  if (tall) arma::inplace_trans(X);
  const arma::uword m = X.n_rows, n = X.n_cols;
  arma::Mat<T> S(m, m), P, next;
  // C = alpha A op(B) + beta C is symmetric: compute one triangle and copy it.
  const auto symmetric = [m](T alpha, const arma::Mat<T>& A, CBLAS_TRANSPOSE op,
                             const arma::Mat<T>& B, T beta, arma::Mat<T>& C) {
    product(CblasNoTrans, op, m, m, A.n_cols, alpha, A.memptr(), m, B.memptr(), m, C.memptr(), m,
            beta, Triangle::upper_result);
    C = arma::symmatu(C);
  };
  for (int i = 0; i < steps; ++i) {
    symmetric(T(1), X, CblasTrans, X, T(0), S);  // S = X X'
    P = S;
    symmetric(c, S, CblasNoTrans, S, b, P);  // P = b S + c S S
    next = X;
    product(CblasNoTrans, CblasNoTrans, m, n, m, T(1), P.memptr(), m, X.memptr(), m, next.memptr(),
            m, a);  // a X + P X
    X.swap(next);
  }
  if (tall) arma::inplace_trans(X);
  return X;
}

template arma::fmat newton_schulz<float>(const arma::fmat&, int, const NewtonSchulzCoefficients&);
template arma::mat newton_schulz<double>(const arma::mat&, int, const NewtonSchulzCoefficients&);

}  // namespace ranklab
