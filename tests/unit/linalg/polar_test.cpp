#include "linalg/polar.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.hpp"
#include "core/tolerances.hpp"
#include "gaussian.hpp"
#include "linalg/decompositions.hpp"

namespace polar_test {

using namespace ranklab;

namespace {

/// G = U diag(s) V' with known factors; its polar factor is U V' restricted to the positive s.
struct Known {
  arma::mat U, V;
  arma::vec s;
  arma::mat G() const { return U * arma::diagmat(s) * V.t(); }
  arma::mat factor() const {
    return U * arma::diagmat(arma::conv_to<arma::vec>::from(s > 0)) * V.t();
  }
};

Known known(arma::uword rows, arma::uword columns, const arma::vec& s) {
  Known known;
  arma::mat R;
  arma::qr_econ(known.U, R, gaussian(rows, s.n_elem, "U"));
  arma::qr_econ(known.V, R, gaussian(columns, s.n_elem, "V"));
  known.s = s;
  return known;
}

/// Singular values from 1 down to 1 / condition, evenly spaced in the logarithm.
arma::vec geometric(arma::uword n, double condition) {
  return arma::logspace(0.0, -std::log10(condition), n);
}

/// ||X - Y||_F divided by the norm of a partial isometry of this rank, in double.
template <class A, class B>
double distance(const A& X, const B& Y, arma::uword rank) {
  return arma::norm(arma::conv_to<arma::mat>::from(X) - arma::conv_to<arma::mat>::from(Y), "fro") /
         std::sqrt(static_cast<double>(rank));
}

/// The definition, computed from the singular value decomposition alone.
template <class T>
Polar<T> by_definition(const arma::Mat<T>& G) {
  const Svd<T> svd = thin_svd(G);
  const double cut = static_cast<double>(std::max(G.n_rows, G.n_cols)) * tolerance::epsilon<T> *
                     static_cast<double>(svd.s(0));
  Polar<T> polar;
  for (const T s : svd.s) {
    polar.nuclear_norm += static_cast<double>(s);
    if (static_cast<double>(s) > cut) ++polar.rank;
  }
  polar.factor = svd.U.head_cols(polar.rank) * svd.V.head_cols(polar.rank).t();
  return polar;
}

template <class T>
void check_against_definition(const arma::Mat<T>& G) {
  const Polar<T> polar = polar_factor(G), expected = by_definition(G);
  REQUIRE(polar.rank == expected.rank);
  CHECK(distance(polar.factor, expected.factor, polar.rank) < tolerance::polar_agreement<T>);
  CHECK(polar.nuclear_norm ==
        doctest::Approx(expected.nuclear_norm).scale(0).epsilon(tolerance::polar_agreement<T>));
}

/// Q has orthonormal rows or columns, and Q'G or G Q' is symmetric positive semidefinite; together
/// these define the polar factor.
template <class T>
void check_invariants(const arma::Mat<T>& G, const Polar<T>& polar) {
  const bool tall = G.n_rows >= G.n_cols;
  const arma::mat Q =
      arma::conv_to<arma::mat>::from(tall ? polar.factor : arma::Mat<T>(polar.factor.t()));
  const arma::mat A = arma::conv_to<arma::mat>::from(tall ? G : arma::Mat<T>(G.t()));
  const arma::mat H = Q.t() * A;
  const double size = arma::norm(A, "fro"), tolerance = tolerance::residual<T>;
  CHECK(distance(arma::mat(Q.t() * Q), arma::mat(arma::eye(Q.n_cols, Q.n_cols)), Q.n_cols) <
        tolerance);
  CHECK(arma::norm(H - H.t(), "fro") < tolerance * size);
  CHECK(symmetric_eigenvalues((H + H.t()) / 2)(0) > -tolerance * size);
  CHECK(arma::trace(H) == doctest::Approx(polar.nuclear_norm).scale(0).epsilon(tolerance));
}

}  // namespace

TEST_CASE_TEMPLATE("the polar factor of known matrices, on both sides of the guard", T, float,
                   double) {
  for (const arma::uword n : {1u, 2u, 15u, 16u, 17u, 40u, 100u}) {
    for (const double condition : {1.0, 1.5, 10.0, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e9, 1e12}) {
      // The known factor can serve as reference only if rounding G moves it by less than the
      // tolerance.
      if (condition * tolerance::epsilon < T >> tolerance::polar_agreement<T>) continue;
      CAPTURE(n);
      CAPTURE(condition);
      const Known exact = known(n, n, geometric(n, condition));
      const arma::Mat<T> G = arma::conv_to<arma::Mat<T>>::from(exact.G());
      const Polar<T> polar = polar_factor(G);
      CHECK(polar.rank == n);
      // Rounding G alone moves the factor by up to the condition number times epsilon.
      CHECK(distance(polar.factor, exact.factor(), n) < tolerance::closed_form<T> * condition);
      CHECK(polar.nuclear_norm ==
            doctest::Approx(arma::accu(exact.s)).scale(0).epsilon(tolerance::polar_agreement<T>));
      check_invariants(G, polar);
    }
  }
}

TEST_CASE_TEMPLATE("the polar factor agrees with the singular value decomposition", T, float,
                   double) {
  for (const arma::uword n : {3u, 16u, 33u, 64u, 100u, 257u}) {
    CAPTURE(n);
    check_against_definition(arma::conv_to<arma::Mat<T>>::from(gaussian(n, n, "G")));
    for (const double condition : {1.0, 10.0, 1e3, 1e5, 1e6, 1e12}) {
      CAPTURE(condition);
      // In single precision the two agree only up to their errors.
      if (condition * tolerance::epsilon < T >> tolerance::polar_agreement<T>) continue;
      check_against_definition(
          arma::conv_to<arma::Mat<T>>::from(known(n, n, geometric(n, condition)).G()));
      arma::vec one_small(n, arma::fill::ones), half_small(n, arma::fill::ones);
      one_small(n - 1) = 1 / condition;
      half_small.tail(n / 2).fill(1 / condition);
      check_against_definition(arma::conv_to<arma::Mat<T>>::from(known(n, n, one_small).G()));
      check_against_definition(arma::conv_to<arma::Mat<T>>::from(known(n, n, half_small).G()));
    }
  }
}

TEST_CASE_TEMPLATE("the fast method is used exactly when it is allowed and takes few iterations", T,
                   float, double) {
  const double limit = tolerance::polar_condition_limit<T>;
  const auto iterations = [](const arma::mat& G, double tol = -1) {
    return polar_factor(arma::conv_to<arma::Mat<T>>::from(G), tol).iterations;
  };
  for (const arma::uword n : {16u, 40u, 100u}) {
    CAPTURE(n);
    // ||G||_F ||G^-1||_F equals `condition` up to a few percent if that is well above n.
    const auto G = [n](double condition) {
      arma::vec s(n, arma::fill::ones);
      s(n - 1) = std::sqrt(static_cast<double>(n)) / condition;
      return known(n, n, s).G();
    };
    for (const double condition : {1e2, 1e3, 1e4, 0.9 * limit}) {
      CAPTURE(condition);
      CHECK(iterations(G(condition), 0.0) > 1);
      CHECK(iterations(G(condition), 0.0) <= 6);
    }
    CHECK(iterations(G(1.1 * limit), 0.0) == 0);
    CHECK(iterations(G(1e4), 0.9e-4) > 0);
    CHECK(iterations(G(1e4), 1.1e-4) == 0);
    CHECK(iterations(known(n, n, arma::ones(n)).G()) == 2);
  }
  CHECK(iterations(gaussian(400, 50, "G")) > 0);
  CHECK(iterations(gaussian(50, 400, "G")) > 0);
  CHECK(iterations(gaussian(15, 15, "G")) == 0);
}

TEST_CASE_TEMPLATE("the polar factor of wide and tall matrices and of vectors", T, float, double) {
  for (const auto& [long_side, short_side] :
       {std::pair{7, 1}, {40, 3}, {17, 16}, {60, 40}, {400, 50}}) {
    const auto m = static_cast<arma::uword>(long_side), n = static_cast<arma::uword>(short_side);
    CAPTURE(m);
    CAPTURE(n);
    for (const double condition : {1.0, 30.0}) {
      const Known exact = known(m, n, geometric(n, condition));
      const arma::Mat<T> tall = arma::conv_to<arma::Mat<T>>::from(exact.G()), wide = tall.t();
      for (const arma::Mat<T>& G : {tall, wide}) {
        const Polar<T> polar = polar_factor(G);
        CHECK(polar.rank == n);
        REQUIRE(arma::size(polar.factor) == arma::size(G));
        const arma::mat expected =
            G.n_rows >= G.n_cols ? exact.factor() : arma::mat(exact.factor().t());
        CHECK(distance(polar.factor, expected, n) < tolerance::polar_agreement<T>);
        check_invariants(G, polar);
      }
    }
  }
  const arma::Mat<T> row = {T(3), T(0), T(-4)};
  const Polar<T> polar = polar_factor(row);
  CHECK(distance(polar.factor, arma::mat{0.6, 0.0, -0.8}, 1) < tolerance::closed_form<T>);
  CHECK(polar.nuclear_norm == doctest::Approx(5.0).epsilon(tolerance::closed_form<T>));
}

TEST_CASE_TEMPLATE("the polar factor of a singular matrix is the partial isometry on its row space",
                   T, float, double) {
  for (const arma::uword n : {5u, 16u, 40u, 100u}) {
    for (const arma::uword rank : {arma::uword{1}, n / 2, n - 1}) {
      CAPTURE(n);
      CAPTURE(rank);
      arma::vec s(n, arma::fill::zeros);
      s.head(rank) = geometric(rank, 10.0);
      for (const arma::uword columns : {n, 2 * n}) {
        const Known exact = known(n, columns, s);
        const Polar<T> polar = polar_factor(arma::conv_to<arma::Mat<T>>::from(exact.G()));
        CHECK(polar.rank == rank);
        CHECK(distance(polar.factor, exact.factor(), rank) < tolerance::polar_agreement<T>);
        CHECK(polar.nuclear_norm ==
              doctest::Approx(arma::accu(s)).scale(0).epsilon(tolerance::polar_agreement<T>));
      }
    }
  }
}

TEST_CASE(
    "the polar factor of exactly singular matrices: a zero column, a repeated row, a zero diagonal "
    "entry") {
  arma::mat zero_column = gaussian(40, 40, "G"), repeated_row = zero_column,
            diagonal(40, 40, arma::fill::eye);
  zero_column.col(7).zeros();
  repeated_row.row(3) = repeated_row.row(30);
  diagonal(5, 5) = 0.0;
  for (const arma::mat& G : {zero_column, repeated_row, diagonal}) {
    CHECK(polar_factor(G).rank == 39);
    check_against_definition(G);
  }
  CHECK(distance(polar_factor(diagonal).factor, diagonal, 39) < tolerance::closed_form<double>);
}

TEST_CASE(
    "the relative tolerance decides which singular values are kept, whichever method is possible") {
  const arma::uword n = 40;
  arma::vec s(n, arma::fill::ones);
  s.tail(10).fill(1e-3);
  const Known exact = known(n, n, s);
  const arma::mat G = exact.G(), top = exact.U.head_cols(30) * exact.V.head_cols(30).t();
  for (const double keeps_all : {-1.0, 0.0, 1e-12, 1e-5, 0.999e-3}) {
    CAPTURE(keeps_all);
    const Polar<double> polar = polar_factor(G, keeps_all);
    CHECK(polar.rank == n);
    CHECK(distance(polar.factor, exact.factor(), n) < tolerance::polar_agreement<double>);
  }
  for (const double cuts : {1.001e-3, 0.5}) {
    CAPTURE(cuts);
    const Polar<double> polar = polar_factor(G, cuts);
    CHECK(polar.rank == 30);
    CHECK(distance(polar.factor, top, 30) < tolerance::polar_agreement<double>);
    // The nuclear norm counts all singular values.
    CHECK(polar.nuclear_norm ==
          doctest::Approx(arma::accu(s)).scale(0).epsilon(tolerance::polar_agreement<double>));
  }
  const Polar<double> nothing = polar_factor(G, 2.0);
  CHECK(nothing.rank == 0);
  CHECK(arma::size(nothing.factor) == arma::size(G));
  CHECK(arma::accu(arma::abs(nothing.factor)) == 0.0);
}

TEST_CASE("the polar factor of a zero or empty matrix is zero") {
  for (const arma::mat& G :
       {arma::mat(1, 1, arma::fill::zeros), arma::mat(40, 40, arma::fill::zeros),
        arma::mat(20, 60, arma::fill::zeros), arma::mat(0, 5)}) {
    const Polar<double> polar = polar_factor(G);
    CHECK(polar.rank == 0);
    CHECK(polar.nuclear_norm == 0.0);
    CHECK(arma::size(polar.factor) == arma::size(G));
    CHECK(arma::accu(arma::abs(polar.factor)) == 0.0);
  }
}

TEST_CASE("scaling the matrix keeps its polar factor and scales its nuclear norm") {
  for (const auto& [rows, columns] : {std::pair{1, 1}, {40, 40}, {50, 30}}) {
    const arma::mat G =
        gaussian(static_cast<arma::uword>(rows), static_cast<arma::uword>(columns), "G");
    const Polar<double> unscaled = by_definition(G);
    for (const double scale : {1e-300, 1e-150, 1e-10, 1e10, 1e150, 1e300}) {
      CAPTURE(scale);
      const Polar<double> polar = polar_factor(arma::mat(scale * G));
      CHECK(polar.rank == unscaled.rank);
      CHECK(distance(polar.factor, unscaled.factor, unscaled.rank) <
            tolerance::polar_agreement<double>);
      CHECK(polar.nuclear_norm / scale == doctest::Approx(unscaled.nuclear_norm)
                                              .scale(0)
                                              .epsilon(tolerance::polar_agreement<double>));
    }
  }
  // Subnormal entries carry few bits; the identity carries them exactly.
  const Polar<double> subnormal = polar_factor(arma::mat(0x1p-1070 * arma::eye(20, 20)));
  CHECK(distance(subnormal.factor, arma::mat(arma::eye(20, 20)), 20) <
        tolerance::closed_form<double>);
  CHECK(subnormal.nuclear_norm == 20 * 0x1p-1070);
  CHECK(subnormal.iterations > 0);
}

TEST_CASE(
    "an orthogonal matrix is its own polar factor, that of a symmetric positive definite one is "
    "I") {
  const arma::mat Q = known(64, 64, arma::ones(64)).factor(), A = gaussian(64, 64, "A");
  CHECK(distance(polar_factor(Q).factor, Q, 64) < tolerance::residual<double>);
  const arma::mat S = A * A.t() + arma::eye(64, 64);
  CHECK(distance(polar_factor(S).factor, arma::mat(arma::eye(64, 64)), 64) <
        tolerance::polar_agreement<double>);
  CHECK(polar_factor(S).nuclear_norm ==
        doctest::Approx(arma::trace(S)).scale(0).epsilon(tolerance::residual<double>));
}

TEST_CASE("the same matrix gives bitwise equal results") {
  const arma::mat G = gaussian(60, 60, "G");
  const Polar<double> once = polar_factor(G), twice = polar_factor(G);
  CHECK(arma::all(arma::vectorise(once.factor == twice.factor)));
  CHECK(once.nuclear_norm == twice.nuclear_norm);
}

TEST_CASE("non-finite entries are refused at every size") {
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    for (const arma::uword n : {2u, 40u}) {
      arma::mat G(n, n, arma::fill::ones);
      G(n - 1, 0) = bad;
      CHECK_THROWS_AS(polar_factor(G), Failure);
      CHECK_THROWS_AS(polar_factor(arma::conv_to<arma::fmat>::from(G)), Failure);
    }
  }
}

TEST_CASE(
    "a square matrix with one zero column also uses the iteration, and that column of the factor "
    "is zero") {
  for (const arma::uword n : {20u, 100u}) {
    for (const arma::uword j : {arma::uword(0), n / 2, n - 1}) {
      arma::mat G = gaussian(n, n, "G");
      G.col(j).zeros();
      const auto polar = polar_factor(G);
      CHECK(polar.iterations > 0);
      CHECK(polar.rank == n - 1);
      CHECK(arma::norm(polar.factor.col(j)) == 0.0);
      arma::mat U, V;
      arma::vec s;
      REQUIRE(arma::svd_econ(U, s, V, G, "both", "std"));
      const arma::mat expected = U.head_cols(n - 1) * V.head_cols(n - 1).t();
      CHECK(arma::norm(polar.factor - expected, "fro") <=
            tolerance::polar_agreement<double> * std::sqrt(static_cast<double>(n)));
      CHECK(polar.nuclear_norm ==
            doctest::Approx(arma::accu(s)).epsilon(tolerance::polar_agreement<double>));
    }
  }
  // With two zero columns or a dependent third one, only the singular value decomposition works.
  arma::mat G = gaussian(30, 30, "G");
  G.col(3).zeros();
  G.col(4) = G.col(5);
  CHECK(polar_factor(G).iterations == 0);
  CHECK(polar_factor(G).rank == 28);
  G.col(4).zeros();
  CHECK(polar_factor(G).iterations == 0);
  CHECK(polar_factor(G).rank == 28);
}

TEST_CASE("long matrices by products: of every condition number, tall and wide") {
  for (const double condition : {1.0, 1e3, 1e6, 1e9, 1e14}) {
    const auto svd = thin_svd(gaussian(70, 24, "long"));
    const arma::vec s = arma::exp(-arma::linspace(0, std::log(condition), 24));
    const arma::mat G = 1e-90 * svd.U * arma::diagmat(s) * svd.V.t(), expected = svd.U * svd.V.t();
    const double rounding = 64 * condition * tolerance::epsilon<double>;
    const arma::mat tall = polar_factor_of_long(G), wide = polar_factor_of_long(G.t());
    if (condition < 1e12) {
      CHECK(arma::norm(tall - expected, "fro") <= rounding);
      CHECK(arma::norm(wide - expected.t(), "fro") <= rounding);
    }
    CHECK(arma::norm(tall - polar_factor(G).factor, "fro") <= rounding);
  }
  const arma::mat low = gaussian(70, 5, "left") * gaussian(5, 24, "right");
  CHECK(arma::norm(polar_factor_of_long(low) - polar_factor(low).factor, "fro") == 0.0);
  const arma::mat square = gaussian(24, 24, "square");
  CHECK(arma::norm(polar_factor_of_long(square) - polar_factor(square).factor, "fro") == 0.0);
  CHECK(arma::norm(polar_factor_of_long(arma::zeros(3, 5)), "fro") == 0.0);
}

}  // namespace polar_test
