// Compares token similarity with loops over tokens and pairs, with LAPACK's singular values, and
// with states whose values are known.
#include "linalg/similarity.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "core/error.hpp"
#include "core/tolerances.hpp"
#include "gaussian.hpp"

namespace similarity_test {

using namespace ranklab;

namespace {

constexpr double rounding = tolerance::residual<double>;

doctest::Approx close(double expected, double relative = rounding) {
  return doctest::Approx(expected).scale(0).epsilon(relative);
}

// The definitions, computed entry by entry.
struct ByLoops {
  double shared = 0, rest = 0, cosine = 0;
};

double entry_product(const arma::mat& Y, arma::uword i, arma::uword j) {
  double sum = 0;
  for (arma::uword r = 0; r < Y.n_rows; ++r) sum += Y(r, i) * Y(r, j);
  return sum;
}

ByLoops by_loops(const arma::mat& Y) {
  ByLoops out;
  const double N = static_cast<double>(Y.n_cols);
  for (arma::uword r = 0; r < Y.n_rows; ++r) {
    double mean = 0;
    for (arma::uword t = 0; t < Y.n_cols; ++t) mean += Y(r, t) / N;
    out.shared += N * mean * mean;
    for (arma::uword t = 0; t < Y.n_cols; ++t) out.rest += (Y(r, t) - mean) * (Y(r, t) - mean);
  }
  for (arma::uword i = 0; i < Y.n_cols; ++i) {
    for (arma::uword j = i + 1; j < Y.n_cols; ++j) {
      out.cosine +=
          entry_product(Y, i, j) / std::sqrt(entry_product(Y, i, i) * entry_product(Y, j, j));
    }
  }
  out.cosine /= N * (N - 1) / 2;
  return out;
}

void check_against_definitions(const arma::mat& Y, const TokenGeometry& g) {
  const ByLoops loops = by_loops(Y);
  const double square = loops.shared + loops.rest;
  CHECK(g.norm == close(std::sqrt(square)));
  CHECK(g.mu == close(std::sqrt(loops.rest)));
  CHECK(g.mu_normalized == close(std::sqrt(loops.rest / square)));
  CHECK(g.token_similarity == close(loops.shared / square));
  CHECK(std::abs(g.cosine_similarity - loops.cosine) < rounding);
  const arma::vec s = arma::svd(Y);
  const double total = arma::dot(s, s);
  CHECK(std::abs(g.rank_one_residual - (1 - s(0) * s(0) / total)) < rounding);
  CHECK(g.stable_rank == close(total / (s(0) * s(0))));
  double entropy = 0;
  for (const double value : s) entropy -= value / arma::accu(s) * std::log(value / arma::accu(s));
  CHECK(g.effective_rank == close(std::exp(entropy)));
}

void check_undefined(const TokenGeometry& g) {
  CHECK(g.norm == 0);
  CHECK(g.mu == 0);
  for (const double value : {g.mu_normalized, g.token_similarity, g.cosine_similarity,
                             g.rank_one_residual, g.stable_rank, g.effective_rank}) {
    CHECK(std::isnan(value));
  }
}

}  // namespace

TEST_CASE(
    "token similarity: every measure matches its definition for more and fewer tokens than "
    "dimensions") {
  for (const auto& shape : {std::pair{3, 3}, {4, 17}, {17, 4}, {2, 60}, {30, 2}}) {
    const auto d = static_cast<arma::uword>(shape.first),
               N = static_cast<arma::uword>(shape.second);
    CAPTURE(d);
    CAPTURE(N);
    const arma::mat spread = gaussian(d, N, "Y"), leaning = spread + 1.5;
    for (const arma::mat& Y : {spread, leaning}) {
      check_against_definitions(Y, token_geometry(Y));
      const ByLoops loops = by_loops(Y);
      const TokenParts parts = token_parts(Y);
      CHECK(parts.shared == close(loops.shared));
      CHECK(parts.rest == close(loops.rest));
      CHECK(parts.similarity() + parts.diversity() == close(1.0));
      CHECK(token_spread(Y) == close(std::sqrt(loops.rest)));
      CHECK(std::abs(cosine_similarity(Y) - loops.cosine) < rounding);
    }
  }
}

TEST_CASE("token similarity: values for orthonormal tokens") {
  const arma::mat Y(6, 6, arma::fill::eye);
  const TokenGeometry g = token_geometry(Y);
  CHECK(g.mu == close(std::sqrt(5.0)));  // 6 - 6 * 6 / 36
  CHECK(g.token_similarity == close(1.0 / 6));
  CHECK(std::abs(g.cosine_similarity) < rounding);
  CHECK(g.rank_one_residual == close(5.0 / 6));
  CHECK(g.stable_rank == close(6.0));
  CHECK(g.effective_rank == close(6.0));
}

TEST_CASE(
    "token similarity: values for equal tokens and for parallel tokens of different lengths") {
  const arma::mat v = gaussian(5, 1, "v");
  const TokenGeometry equal = token_geometry(arma::mat(v * arma::rowvec(9, arma::fill::ones)));
  CHECK(equal.mu < rounding * equal.norm);
  CHECK(equal.token_similarity == close(1.0));
  CHECK(equal.cosine_similarity == close(1.0));
  CHECK(equal.rank_one_residual < rounding);
  CHECK(equal.effective_rank == close(1.0, std::sqrt(rounding)));
  // Lengths 1, 2, 3, 4 have mean 5/2, so mu^2 = (30 - 25) |v|^2.
  const TokenGeometry lengths = token_geometry(arma::mat(v * arma::rowvec{1, 2, 3, 4}));
  CHECK(lengths.mu == close(std::sqrt(5.0) * arma::norm(v)));
  CHECK(lengths.cosine_similarity == close(1.0));
  CHECK(lengths.rank_one_residual < rounding);
  CHECK(lengths.stable_rank == close(1.0));
}

TEST_CASE("token similarity: antiparallel tokens have rank one, which mu does not detect") {
  const arma::mat v = gaussian(7, 1, "v");
  const arma::rowvec signs = {1, -1, 1, -1, -1, 1};
  const TokenGeometry g = token_geometry(arma::mat(v * signs));
  CHECK(g.mu == close(g.norm));
  CHECK(g.mu_normalized == close(1.0));
  CHECK(std::abs(g.token_similarity) < rounding);
  CHECK(g.cosine_similarity == close(-1.0 / 5));  // 6 of 15 pairs agree
  CHECK(g.rank_one_residual < rounding);
  CHECK(g.stable_rank == close(1.0));
}

TEST_CASE(
    "token similarity: the effective rank of a singular matrix does not count rounding noise") {
  for (const auto& shape : {std::pair{200, 300}, {300, 200}}) {
    const auto d = static_cast<arma::uword>(shape.first),
               N = static_cast<arma::uword>(shape.second);
    // Two equal singular values.
    arma::mat U, V, R;
    arma::qr_econ(U, R, gaussian(d, 2, "U"));
    arma::qr_econ(V, R, gaussian(N, 2, "V"));
    const TokenGeometry g = token_geometry(arma::mat(U * V.t()));
    CHECK(g.effective_rank == close(2.0));
    CHECK(g.stable_rank == close(2.0));
    CHECK(g.rank_one_residual == close(0.5));
  }
}

TEST_CASE("token similarity: scaling changes only the norm and mu, at any scale") {
  const arma::mat Y = gaussian(6, 11, "Y") + 0.3;
  const TokenGeometry plain = token_geometry(Y);
  for (const double scale : {1e200, 1e-200, -3.0}) {
    CAPTURE(scale);
    const TokenGeometry g = token_geometry(arma::mat(scale * Y));
    CHECK(g.norm / std::abs(scale) == close(plain.norm));
    CHECK(g.mu / std::abs(scale) == close(plain.mu));
    CHECK(token_spread(arma::mat(scale * Y)) / std::abs(scale) == close(plain.mu));
    CHECK(cosine_similarity(arma::mat(scale * Y)) == close(plain.cosine_similarity));
    CHECK(g.mu_normalized == close(plain.mu_normalized));
    CHECK(g.token_similarity == close(plain.token_similarity));
    CHECK(g.cosine_similarity == close(plain.cosine_similarity));
    CHECK(g.rank_one_residual == close(plain.rank_one_residual));
    CHECK(g.stable_rank == close(plain.stable_rank));
    CHECK(g.effective_rank == close(plain.effective_rank));
  }
}

TEST_CASE("token similarity: a small diversity is not lost next to the common part of the tokens") {
  // Tokens 1 + delta and 1 - delta have diversity delta^2, which 1 - similarity would lose. delta
  // is a power of two, so 1 +- delta are exact.
  const double delta = std::ldexp(1.0, -40);
  const arma::mat Y = {{1 + delta, 1 - delta}};
  CHECK(token_parts(Y).diversity() == close(delta * delta / (1 + delta * delta)));
  CHECK(token_geometry(Y).mu_normalized == close(delta / std::sqrt(1 + delta * delta)));
  CHECK(token_spread(Y) == close(std::sqrt(2.0) * delta));
}

TEST_CASE("token similarity: values for zero matrices and zero tokens") {
  check_undefined(token_geometry(arma::mat(3, 4, arma::fill::zeros)));
  check_undefined(token_geometry(arma::fmat(4, 3, arma::fill::zeros)));
  CHECK(std::isnan(token_parts(arma::mat(2, 2, arma::fill::zeros)).similarity()));
  // A zero token has no direction: two orthogonal tokens remain, then one, which forms no pair.
  const arma::mat two = {{1, 0, 0}, {0, 0, 2}}, one = {{1, 0, 0}, {0, 0, 0}};
  CHECK(std::abs(cosine_similarity(two)) < rounding);
  CHECK(std::isnan(cosine_similarity(one)));
  CHECK(token_geometry(one).rank_one_residual == 0);
  CHECK(token_geometry(arma::mat(arma::mat{{2, 2, 0}})).cosine_similarity == close(1.0));
}

TEST_CASE("token similarity: single-precision states are measured in double") {
  const arma::fmat Y = arma::conv_to<arma::fmat>::from(arma::mat(gaussian(8, 20, "Y") + 1.0));
  const arma::mat exact = arma::conv_to<arma::mat>::from(Y);
  check_against_definitions(exact, token_geometry(Y));
  CHECK(token_spread(Y) == token_spread(exact));
  CHECK(cosine_similarity(Y) == cosine_similarity(exact));
  CHECK(token_parts(Y).rest == token_parts(exact).rest);
  const arma::fmat large = 1e25f * Y;
  CHECK(token_geometry(large).norm ==
        close(arma::norm(arma::conv_to<arma::mat>::from(large), "fro")));
}

TEST_CASE("token similarity: non-finite entries are refused") {
  arma::mat Y = gaussian(3, 3, "Y");
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    Y(1, 2) = bad;
    CHECK_THROWS_AS(token_geometry(Y), Failure);
  }
}

}  // namespace similarity_test
