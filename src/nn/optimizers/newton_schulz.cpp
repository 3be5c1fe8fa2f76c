#include "nn/optimizers/newton_schulz.hpp"

#include <algorithm>

#include "linalg/product.hpp"

namespace ranklab {
namespace {

// Matrices with at least so many rows, and twice as many columns, take several steps at once. It
// is up to 1.5 times as fast (see block.newton-schulz in results/bench); smaller ones would gain
// less than half a millisecond.
constexpr arma::uword fewest_rows = 256;

// Steps with one S = X X'. Each step multiplies the rounding errors of S by up to a^2 = 11.9. With
// three steps they stay below those of X.
constexpr int most_steps_at_once = 3;

/// alpha A op(B) + beta C, which is symmetric: computes one triangle and copies it.
template <class T>
void add_symmetric(T alpha, const arma::Mat<T>& A, CBLAS_TRANSPOSE op, const arma::Mat<T>& B,
                   T beta, arma::Mat<T>& C) {
  const arma::uword m = C.n_rows;
  product(CblasNoTrans, op, m, m, A.n_cols, alpha, A.memptr(), m, B.memptr(), m, C.memptr(), m,
          beta, Triangle::upper_result);
  C = arma::symmatu(C);
}

/// a X + P X.
template <class T>
arma::Mat<T> times(T a, const arma::Mat<T>& P, const arma::Mat<T>& X) {
  arma::Mat<T> out = X;
  product(CblasNoTrans, CblasNoTrans, X.n_rows, X.n_cols, X.n_rows, T(1), P.memptr(), P.n_rows,
          X.memptr(), X.n_rows, out.memptr(), X.n_rows, a);
  return out;
}

/// With q(S) = a I + b S + c S S, a step is X <- q(S) X, and then S <- q(S) S q(S). All these are
/// polynomials of the first S, so they commute and are symmetric. P is the product of the q(S).
template <class T>
void several_steps(arma::Mat<T>& X, int steps, T a, T b, T c) {
  const arma::uword m = X.n_rows;
  arma::Mat<T> S(m, m), P, Q, next(m, m);
  add_symmetric(T(1), X, CblasTrans, X, T(0), S);
  for (int i = 0; i < steps; ++i) {
    Q = S;
    add_symmetric(c, S, CblasNoTrans, S, b, Q);
    Q.diag() += a;
    if (i == 0) {
      P = Q;
    } else {
      add_symmetric(T(1), Q, CblasNoTrans, P, T(0), next);
      P.swap(next);
    }
    if (i + 1 == steps) break;
    add_symmetric(T(1), Q, CblasNoTrans, S, T(0), next);
    add_symmetric(T(1), next, CblasNoTrans, Q, T(0), S);
  }
  X = times(T(0), P, X);
}

template <class T>
void one_step(arma::Mat<T>& X, T a, T b, T c) {
  arma::Mat<T> S(X.n_rows, X.n_rows);
  add_symmetric(T(1), X, CblasTrans, X, T(0), S);
  arma::Mat<T> P = S;
  add_symmetric(c, S, CblasNoTrans, S, b, P);
  X = times(a, P, X);
}

}  // namespace

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
  const bool several = X.n_rows >= fewest_rows && X.n_cols >= 2 * X.n_rows;
  for (int done = 0; done < steps;) {
    const int now = several ? std::min(steps - done, most_steps_at_once) : 1;
    if (several)
      several_steps(X, now, a, b, c);
    else
      one_step(X, a, b, c);
    done += now;
  }
  if (tall) arma::inplace_trans(X);
  return X;
}

template arma::fmat newton_schulz<float>(const arma::fmat&, int, const NewtonSchulzCoefficients&);
template arma::mat newton_schulz<double>(const arma::mat&, int, const NewtonSchulzCoefficients&);

}  // namespace ranklab
