#include "nn/optimizers/newton_schulz.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "core/tolerances.hpp"
#include "ensembles/random_features.hpp"

namespace newton_schulz_test {

using namespace ranklab;

namespace {

const Streams trial(11, 0);

arma::mat gaussian(const char* name, std::uint64_t rows, std::uint64_t columns) {
  return draw_gaussian<double>(trial, name, rows, columns, 1.0);
}

}  // namespace

TEST_CASE("a single singular value follows the scalar polynomial") {
  // A rank-one matrix of norm 1: s = 1 / (1 + 1e-7) at the start, and p(1) = 0.701.
  const arma::vec u = arma::normalise(gaussian("u", 6, 1)),
                  v = arma::normalise(gaussian("v", 4, 1));
  const arma::mat G = u * v.t();
  double s = 1 / (1 + 1e-7);
  for (int steps = 0; steps <= 5; ++steps) {
    const arma::mat X = newton_schulz(G, steps);
    CHECK(arma::approx_equal(X, arma::mat(s * G), "absdiff", tolerance::residual<double>));
    s = 3.4445 * s - 4.7750 * s * s * s + 2.0315 * std::pow(s, 5);
    if (steps == 0) CHECK(s == doctest::Approx(0.701).epsilon(1e-6));
  }
}

TEST_CASE("singular vectors are kept, and five steps bring moderate singular values near 1") {
  for (const auto& [rows, columns] : {std::pair{12, 12}, {9, 20}, {20, 9}}) {
    const arma::mat G =
        gaussian("G", static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns));
    arma::mat U, V;
    arma::vec s;
    REQUIRE(arma::svd_econ(U, s, V, G, "both", "std"));
    const arma::mat core = U.t() * newton_schulz(G) * V;
    const arma::vec after = core.diag();
    CHECK(arma::norm(core - arma::diagmat(after), "fro") < tolerance::residual<double>);
    // Five steps multiply small ones by up to 3.4445^5 = 485. Once they reach about [0.7, 1.2],
    // they stay there.
    for (arma::uword i = 0; i < s.n_elem; ++i) {
      if (s(i) / arma::norm(s) < 0.01) continue;
      CHECK(after(i) > 0.65);
      CHECK(after(i) < 1.25);
    }
  }
}

TEST_CASE("a transposed matrix gives the transposed result, and a zero matrix stays zero") {
  const arma::mat G = gaussian("G", 7, 5);
  const arma::mat transposed = newton_schulz(arma::mat(G.t()));
  CHECK(arma::approx_equal(newton_schulz(G), arma::mat(transposed.t()), "absdiff",
                           tolerance::residual<double>));
  CHECK(arma::accu(arma::abs(newton_schulz(arma::mat(3, 4, arma::fill::zeros)))) == 0.0);
  CHECK(newton_schulz(arma::mat()).is_empty());
}

TEST_CASE("single precision agrees with double") {
  const arma::mat G = gaussian("G", 6, 8);
  const arma::fmat single = newton_schulz(arma::conv_to<arma::fmat>::from(G));
  CHECK(arma::approx_equal(arma::conv_to<arma::mat>::from(single), newton_schulz(G), "absdiff",
                           tolerance::residual<float>));
}

TEST_CASE("long matrices take several steps at once, as accurately") {
  // The definition, from the singular values. The last are so small that rounding hides their
  // squares in single precision.
  const arma::uword m = 256, n = 600;
  arma::mat U, V;
  arma::vec s;
  REQUIRE(arma::svd_econ(U, s, V, gaussian("G", m, n)));
  s = arma::logspace(0, -5, m);
  const arma::mat G = U * arma::diagmat(s) * V.t();
  s /= arma::norm(s) + 1e-7;
  for (int steps = 1; steps <= 7; ++steps) {
    s = 3.4445 * s - 4.7750 * arma::pow(s, 3) + 2.0315 * arma::pow(s, 5);
    const arma::mat expected = U * arma::diagmat(s) * V.t();
    for (const bool tall : {false, true}) {
      const arma::mat input = tall ? arma::mat(G.t()) : G;
      arma::mat exact = newton_schulz(input, steps),
                single = arma::conv_to<arma::mat>::from(
                    newton_schulz(arma::conv_to<arma::fmat>::from(input), steps));
      if (tall) {
        arma::inplace_trans(exact);
        arma::inplace_trans(single);
      }
      CHECK(arma::norm(exact - expected, "fro") < 1e-12 * arma::norm(expected, "fro"));
      CHECK(arma::norm(single - expected, "fro") < 8e-5 * arma::norm(expected, "fro"));
    }
  }
}

}  // namespace newton_schulz_test
