// Two routes to the polar factor.
//
// The definition: LAPACK's singular value decomposition. It handles all matrices that may be
// singular to working precision, and the small ones, for which it is cheap.
//
// The fast route, for matrices that certainly have full rank, uses inverses, Cholesky factors and
// products:
//   1. One scaled Newton step, X <- (z X + X^-T / z) / 2 (Higham, "Functions of Matrices", 2008,
//      Section 8.6), reduces a condition number c to about sqrt(c) / 2. Its inverse also bounds the
//      smallest singular value from below, s_n >= 1 / ||X^-1||_F; this bound is the guard.
//   2. Dynamically weighted Halley steps (Nakatsukasa, Bai, Gygi, SIAM J. Matrix Anal. Appl. 31,
//      2010) in their Cholesky form, which is accurate for moderate weights, as they are after
//      step 1.
//   3. The power series of (I - E)^(-1/2) in the defect E = I - X'X, once its measured norm is
//      small.
// Legend: X (n, n) is the iterate; its singular values are in [low, high].
#include "linalg/polar.hpp"

#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "core/tolerances.hpp"
#include "linalg/decompositions.hpp"
#include "linalg/scale_exponent.hpp"

namespace ranklab {
namespace {

// Below this size the two routes cost the same.
constexpr arma::uword smallest_iterated = 16;

// Matrices within the limit take at most six steps (see the tests); more would mean that rounding
// has broken a bound.
constexpr int most_halley_steps = 8;

/// X <- X L^-1, or X L^-T.
void divide_by_lower(arma::mat& X, const arma::mat& L, CBLAS_TRANSPOSE form) {
  const int n = static_cast<int>(X.n_cols);
  cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, form, CblasNonUnit, n, n, 1.0, L.memptr(), n,
              X.memptr(), n);
}
void divide_by_lower(arma::fmat& X, const arma::fmat& L, CBLAS_TRANSPOSE form) {
  const int n = static_cast<int>(X.n_cols);
  cblas_strsm(CblasColMajor, CblasRight, CblasLower, form, CblasNonUnit, n, n, 1.0f, L.memptr(), n,
              X.memptr(), n);
}

/// The smallest over the largest modulus on the diagonal of U, where A = P L U.
template <class T>
double pivot_ratio(const arma::Mat<T>& factors) {
  const arma::Col<T> pivots = arma::abs(factors.diag());
  return static_cast<double>(pivots.min()) / static_cast<double>(pivots.max());
}

/// X^-1, or nothing if the pivots show that X is conditioned worse than the limit: s_n <= n min
/// |u_ii|. The pivots take a third of the time of the inverse. Calls LAPACK directly because
/// Armadillo's inv() adds a condition estimate.
template <class T>
std::optional<arma::Mat<T>> inverse_within(arma::Mat<T> X, double condition_limit) {
  arma::blas_int n = static_cast<arma::blas_int>(X.n_rows), info = 0, work_size = 64 * n;
  arma::Col<arma::blas_int> pivots(X.n_rows, arma::fill::none);
  arma::Col<T> work(static_cast<arma::uword>(work_size), arma::fill::none);
  arma::lapack::getrf(&n, &n, X.memptr(), &n, pivots.memptr(), &info);
  if (info != 0 || !(pivot_ratio(X) * condition_limit > 1)) return std::nullopt;
  arma::lapack::getri(&n, X.memptr(), &n, pivots.memptr(), work.memptr(), &work_size, &info);
  if (info != 0) return std::nullopt;
  return X;
}

template <class T>
bool cholesky_lower(arma::Mat<T>& M) {
  arma::blas_int n = static_cast<arma::blas_int>(M.n_rows), info = 0;
  char uplo = 'L';
  arma::lapack::potrf(&uplo, &n, M.memptr(), &n, &info);
  return info == 0;
}

template <class T>
double frobenius(const arma::Mat<T>& A) {
  // arma::norm guards against overflow, at a cost; the iterates here are scaled already.
  return std::sqrt(static_cast<double>(arma::dot(A, A)));
}

template <class T>
struct Iterate {
  arma::Mat<T> X;
  double low = 0, high = 0;
  int steps = 0;
};

/// One Newton step from X and its inverse, or nothing if ||X||_F ||X^-1||_F exceeds the limit.
template <class T>
std::optional<Iterate<T>> newton_step(const arma::Mat<T>& X, arma::Mat<T> inverse,
                                      double condition_limit) {
  const double norm = frobenius(X), inverse_norm = frobenius(inverse),
               condition = norm * inverse_norm;
  if (!(condition <= condition_limit))
    return std::nullopt;  // NaN, after an overflow, stops here too

  const double z = std::sqrt(inverse_norm / norm);
  arma::inplace_trans(inverse);
  Iterate<T> next;
  next.X = static_cast<T>(z / 2) * X + static_cast<T>(0.5 / z) * inverse;
  // z s is in [1 / root, root], where (z s + 1 / (z s)) / 2 is at least 1 and largest at both ends.
  const double root = std::sqrt(condition);
  next.low = 1;
  next.steps = 1;
  next.high = (root + 1 / root) / 2;
  return next;
}

/// s -> s (a + b s^2) / (1 + c s^2) maps [low, 1] into [image_of_low, 1]; the best map of this
/// form.
struct HalleyWeights {
  double a, b, c, image_of_low;
};

HalleyWeights halley_weights(double low) {
  const double square = low * low;
  const double d = std::cbrt(4 * (1 - square) / (square * square)), root = std::sqrt(1 + d);
  const double a = root + std::sqrt(8 - 4 * d + 8 * (2 - square) / (square * root)) / 2;
  const double b = (a - 1) * (a - 1) / 4, c = a + b - 1;
  return {a, b, c, std::min(1.0, low * (a + b * square) / (1 + c * square))};
}

/// One weighted Halley step, centered so that [image_of_low, 1] becomes [1 - r, 1 + r]. Overwrites
/// gram = X'X.
template <class T>
bool halley_step(Iterate<T>& iterate, arma::Mat<T>& gram) {
  const double high = iterate.high;
  const auto [a, b, c, image_of_low] =
      halley_weights(std::min(iterate.low / high, 1.0));  // bounds may cross by rounding
  gram *= static_cast<T>(c / (high * high));
  gram.diag() += T(1);
  if (!cholesky_lower(gram)) return false;
  // X / high (b/c I + (a - b/c) (I + c X'X / high^2)^-1)
  arma::Mat<T> solved = iterate.X;
  divide_by_lower(solved, gram, CblasTrans);
  divide_by_lower(solved, gram, CblasNoTrans);
  const double center = 2 / (1 + image_of_low), scale = center / high;
  iterate.X =
      static_cast<T>(scale * b / c) * iterate.X + static_cast<T>(scale * (a - b / c)) * solved;
  iterate.low = center * image_of_low;
  iterate.high = center;
  return true;
}

/// X <- X (I - E)^(-1/2), its series cut after E^order; order is 1, 2 or 4.
template <class T>
void series_step(arma::Mat<T>& X, const arma::Mat<T>& E, int order) {
  arma::Mat<T> P = T(0.5) * E;
  if (order >= 2) {
    const arma::Mat<T> square = E.t() * E;
    P += T(0.375) * square;
    if (order == 4) P += square * (T(0.3125) * E + T(35.0 / 128) * square);
  }
  X += X * P;
}

/// Bound on the defect after a series step of this order, from ||E||_F.
double defect_after(int order, double e) {
  return order == 1 ? 0.75 * e * e : order == 2 ? 0.625 * e * e * e : 0.5 * std::pow(e, 5);
}

/// The lowest order whose step leaves a defect below the tolerance; 0 if no order does.
template <class T>
int last_order(double e) {
  for (const int order : {1, 2, 4})
    if (defect_after(order, e) <= tolerance::polar_defect<T>) return order;
  return 0;
}

/// Iterates until X is orthogonal; false if that takes more than `most_halley_steps`, or if a step
/// breaks down.
template <class T>
bool converge(Iterate<T>& iterate) {
  constexpr double series_radius =
      0.05;  // below this, a series step gains more than a Halley step and costs less
  while (iterate.steps++ < most_halley_steps) {
    arma::Mat<T> gram = iterate.X.t() * iterate.X;
    arma::Mat<T> E = -gram;
    E.diag() += T(1);
    const double e = frobenius(E);
    if (const int order = last_order<T>(e); order > 0) {
      series_step(iterate.X, E, order);
      return true;
    }
    // s_1^2 <= ||X'X||_F is often much sharper than the bound so far.
    iterate.high = std::min(iterate.high, std::sqrt(frobenius(gram)));
    if (e < series_radius) {
      series_step(iterate.X, E, 2);
    } else if (!halley_step(iterate, gram)) {
      return false;
    }
  }
  return false;
}

template <class T>
std::vector<arma::uword> zero_columns(const arma::Mat<T>& A) {
  std::vector<arma::uword> out;
  for (arma::uword j = 0; j < A.n_cols && !A.is_empty(); ++j) {
    if (std::all_of(A.begin_col(j), A.end_col(j), [](T a) { return a == T(0); })) out.push_back(j);
  }
  return out;
}

/// The converged iterate of a square X, or nothing if the guard or the iteration fails.
template <class T>
std::optional<Iterate<T>> iterate_square(const arma::Mat<T>& X, double condition_limit) {
  auto inverse = inverse_within(X, condition_limit);
  if (!inverse) return std::nullopt;
  auto iterate = newton_step(X, std::move(*inverse), condition_limit);
  if (iterate && !converge(*iterate)) iterate.reset();
  return iterate;
}

/// As iterate_square for a square X in which only column j is zero, such as a gradient from which a
/// step 1/lambda_1 has removed one direction. With u the unit vector orthogonal to the other
/// columns, X + s u e_j' has the singular values of X, with s in place of 0, and the factor
/// polar(X) + u e_j'. If M differs from X only in column j, row j of M^-1 is parallel to u.
template <class T>
std::optional<Iterate<T>> iterate_without_column(arma::Mat<T> X, arma::uword j,
                                                 double condition_limit) {
  const double s = frobenius(X) / std::sqrt(static_cast<double>(X.n_cols));
  X.col(j) = static_cast<T>(s) * arma::cos(arma::regspace<arma::Col<T>>(
                                     1, static_cast<T>(X.n_rows)));  // a generic direction
  auto inverse = inverse_within(X, condition_limit);
  if (!inverse || !(frobenius(X) * frobenius(*inverse) <= condition_limit)) return std::nullopt;
  const arma::Row<T> u = arma::normalise(inverse->row(j));
  *inverse -= (*inverse * u.t()) * u;
  inverse->row(j) = u / static_cast<T>(s);
  X.col(j) = static_cast<T>(s) * u.t();
  auto iterate = newton_step(X, std::move(*inverse), condition_limit);
  if (iterate && !converge(*iterate)) iterate.reset();
  if (iterate) iterate->X.col(j).zeros();
  return iterate;
}

/// As iterate_square for any shape: a tall X = Q R has the factor Q polar(R) and the singular
/// values of R.
template <class T>
std::optional<Iterate<T>> iterate_any(const arma::Mat<T>& X, double condition_limit) {
  if (X.is_square()) {
    const std::vector<arma::uword> zero = zero_columns(X);
    if (zero.size() == 1) return iterate_without_column(X, zero[0], condition_limit);
    return zero.empty() ? iterate_square(X, condition_limit) : std::nullopt;
  }
  const bool tall = X.n_rows > X.n_cols;
  arma::Mat<T> Q, R;
  if (!(tall ? arma::qr_econ(Q, R, X) : arma::qr_econ(Q, R, X.t()))) return std::nullopt;
  auto iterate = iterate_square(R, condition_limit);
  if (iterate)
    iterate->X = tall ? arma::Mat<T>(Q * iterate->X) : arma::Mat<T>(iterate->X.t() * Q.t());
  return iterate;
}

template <class T>
Polar<T> polar_by_svd(const arma::Mat<T>& G, double relative_tolerance) {
  const Svd<T> svd = thin_svd(G);
  const arma::vec s = arma::conv_to<arma::vec>::from(svd.s);
  Polar<T> polar;
  polar.nuclear_norm = arma::accu(s);
  polar.rank = s.is_empty() ? 0 : arma::accu(s > relative_tolerance * s(0));
  polar.factor = svd.U.head_cols(polar.rank) * svd.V.head_cols(polar.rank).t();  // zero for rank 0
  // Keep zero columns exactly zero: rounding noise there would give the next gradient full rank.
  for (const arma::uword j : zero_columns(G)) polar.factor.col(j).zeros();
  return polar;
}

}  // namespace

template <class T>
Polar<T> polar_factor(const arma::Mat<T>& G, double relative_tolerance) {
  if (relative_tolerance < 0)
    relative_tolerance = static_cast<double>(std::max(G.n_rows, G.n_cols)) * tolerance::epsilon<T>;
  const arma::uword rank = std::min(G.n_rows, G.n_cols);
  if (rank < smallest_iterated || !G.is_finite()) return polar_by_svd(G, relative_tolerance);

  // Scaling by a power of two is exact. The clamp keeps the factor finite for subnormal entries.
  const int exponent = std::max(scale_exponent(G), std::numeric_limits<T>::min_exponent);
  const arma::Mat<T> X = G * std::ldexp(T(1), -exponent);
  // s_n / s_1 >= 1 / (||X||_F ||X^-1||_F), so every singular value is kept. The margin covers
  // rounding.
  const double condition_limit =
      std::min(tolerance::polar_condition_limit<T>, 0.99 / relative_tolerance);
  auto iterate = iterate_any(X, condition_limit);
  if (!iterate) return polar_by_svd(G, relative_tolerance);
  const double nuclear_norm = std::ldexp(static_cast<double>(arma::dot(iterate->X, X)), exponent);
  const bool lacks_one = G.is_square() && !zero_columns(G).empty();
  return {std::move(iterate->X), nuclear_norm, lacks_one ? rank - 1 : rank, iterate->steps};
}

// X = Q R by two Cholesky factorizations: of X'X, and of Q'Q for the Q of the first one. The error
// of that Q grows with the square of the condition number. Then polar(X) = Q polar(R).
arma::mat polar_factor_of_long(const arma::mat& G) {
  if (G.is_square() || G.is_empty() || !G.is_finite()) return polar_factor(G).factor;
  constexpr double largest_defect = 0.1;
  const bool is_tall = G.n_rows > G.n_cols;
  arma::mat X = is_tall ? G : arma::mat(G.t()), first, second;
  X *= std::ldexp(1.0, -scale_exponent(X));
  if (!arma::chol(first, X.t() * X)) return polar_factor(G).factor;
  cblas_dtrsm(CblasColMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit,
              static_cast<int>(X.n_rows), static_cast<int>(X.n_cols), 1.0, first.memptr(),
              static_cast<int>(first.n_rows), X.memptr(), static_cast<int>(X.n_rows));
  const arma::mat gram = X.t() * X;
  if (!(frobenius<double>(gram - arma::eye(X.n_cols, X.n_cols)) < largest_defect) ||
      !arma::chol(second, gram)) {
    return polar_factor(G).factor;
  }
  const arma::mat of_square = polar_factor<double>(second * first).factor,
                  factor = X * arma::solve(arma::trimatu(second), of_square);
  return is_tall ? factor : arma::mat(factor.t());
}

template Polar<float> polar_factor<float>(const arma::fmat&, double);
template Polar<double> polar_factor<double>(const arma::mat&, double);

}  // namespace ranklab
