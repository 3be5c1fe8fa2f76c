#include "linalg/kronecker.hpp"

#include <cblas.h>

#include "core/undefined.hpp"

namespace ranklab {
namespace {

void times_lower(CBLAS_SIDE side, const arma::mat& L, arma::mat& X) {
  cblas_dtrmm(CblasColMajor, side, CblasLower, CblasNoTrans, CblasNonUnit,
              static_cast<int>(X.n_rows), static_cast<int>(X.n_cols), 1.0, L.memptr(),
              static_cast<int>(L.n_rows), X.memptr(), static_cast<int>(X.n_rows));
}
void times_lower(CBLAS_SIDE side, const arma::fmat& L, arma::fmat& X) {
  cblas_strmm(CblasColMajor, side, CblasLower, CblasNoTrans, CblasNonUnit,
              static_cast<int>(X.n_rows), static_cast<int>(X.n_cols), 1.0f, L.memptr(),
              static_cast<int>(L.n_rows), X.memptr(), static_cast<int>(X.n_rows));
}

/// <X, Y>, summed in double.
template <class T>
double inner(const arma::Mat<T>& X, const arma::Mat<T>& Y) {
  double sum = 0;
  for (arma::uword j = 0; j < X.n_cols; ++j) {
    double column = 0;
    const T *x = X.colptr(j), *y = Y.colptr(j);
    for (arma::uword i = 0; i < X.n_rows; ++i)
      column += static_cast<double>(x[i]) * static_cast<double>(y[i]);
    sum += column;
  }
  return sum;
}

/// <X S, C X> for symmetric S and C, given Y = C X; from the left <S X, X C>, given Y = X C. With
/// the lower triangle L of S, S = L + L' - diag(S) and <X L', C X> = <X L, C X>, so that the form
/// is <2 X L - X diag(S), Y>: half the multiplications.
template <class T>
double symmetric_form(CBLAS_SIDE side, arma::Mat<T> X, const arma::Mat<T>& S,
                      const arma::Mat<T>& Y) {
  double on_diagonal = 0;
  for (arma::uword j = 0; j < X.n_cols; ++j) {
    for (arma::uword i = 0; i < X.n_rows; ++i) {
      const arma::uword at = side == CblasRight ? j : i;
      on_diagonal += static_cast<double>(X(i, j)) * static_cast<double>(Y(i, j)) *
                     static_cast<double>(S(at, at));
    }
  }
  times_lower(side, S, X);
  return 2 * inner(X, Y) - on_diagonal;
}

}  // namespace

// Samples turn D into E D or D A', with B = E'E and M = A'A, so that only the other moment is left.
template <class T>
double kronecker_form(const arma::Mat<T>& D, const SecondMoment<T>& M, const SecondMoment<T>& B) {
  const double factor = M.factor * B.factor;
  const bool has_errors = B.form == MomentForm::samples;
  const arma::Mat<T> left = has_errors ? arma::Mat<T>(B.values * D) : arma::Mat<T>();
  const arma::Mat<T>& X = has_errors ? left : D;  // (m or samples of B, k)
  if (M.form == MomentForm::samples) {
    const arma::Mat<T> Y = X * M.values.t();
    return factor * (has_errors ? inner(Y, Y) : symmetric_form(CblasLeft, Y, B.values, Y));
  }
  if (M.form == MomentForm::diagonal) {
    const arma::Mat<T> Y = X.each_row() % M.values.t();
    return factor * (has_errors ? inner(X, Y) : inner<T>(B.values * X, Y));
  }
  if (has_errors) return factor * symmetric_form(CblasRight, X, M.values, X);
  return factor * (M.size() >= B.size() ? symmetric_form<T>(CblasRight, X, M.values, B.values * X)
                                        : symmetric_form<T>(CblasLeft, X, B.values, X * M.values));
}

template double kronecker_form(const arma::mat&, const SecondMoment<double>&,
                               const SecondMoment<double>&);
template double kronecker_form(const arma::fmat&, const SecondMoment<float>&,
                               const SecondMoment<float>&);

double kronecker_form(const arma::mat& D, const arma::mat& M, const arma::mat& B) {
  const arma::mat DM = M.n_cols == 1 ? arma::mat(D.each_row() % M.t()) : arma::mat(D * M);
  return arma::accu((B * D) % DM);
}

BestStep best_step(double slope, double curvature) {
  if (!(slope > 0) || !(curvature > 0)) return {undefined, undefined};
  return {slope / curvature, slope * slope / (2 * curvature)};
}

}  // namespace ranklab
