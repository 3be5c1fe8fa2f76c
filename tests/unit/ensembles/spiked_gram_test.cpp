#include "ensembles/spiked_gram.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/tolerances.hpp"
#include "ensembles/random_features.hpp"

namespace spiked_gram_test {

using namespace ranklab;

namespace {

const Streams trial(5, 3);
constexpr double rounding = tolerance::residual<double>;

SpikedShape shape_of(std::uint64_t d, std::uint64_t spikes, double low, double high) {
  SpikedShape shape;
  shape.d = d;
  shape.spikes = spikes;
  shape.low = low;
  shape.high = high;
  return shape;
}

arma::vec descending_singular_values(const arma::mat& M) {
  arma::vec s;
  REQUIRE(arma::svd(s, M));
  return s;
}

}  // namespace

TEST_CASE(
    "spikes are powers of d with equally spaced exponents; a single spike has the largest "
    "exponent") {
  const arma::vec values = shape_of(64, 3, 0.5, 1.0).spike_values();
  REQUIRE(values.n_elem == 3);
  CHECK(values(0) == doctest::Approx(64.0).epsilon(rounding));
  CHECK(values(1) == doctest::Approx(22.627416997969522).epsilon(rounding));  // 64^(3/4) = 2^(9/2)
  CHECK(values(2) == doctest::Approx(8.0).epsilon(rounding));
  const arma::vec single = shape_of(64, 1, 0.5, 1.0).spike_values();
  REQUIRE(single.n_elem == 1);
  CHECK(single(0) == doctest::Approx(64.0).epsilon(rounding));
}

TEST_CASE(
    "orthonormal columns are Q of a QR with positive diagonal of R; fewer columns are the first "
    "ones") {
  const arma::mat Q = draw_orthonormal(trial, "name", 9, 5),
                  G = draw_gaussian<double>(trial, "name", 9, 5, 1.0);
  CHECK(arma::norm(Q.t() * Q - arma::eye(5, 5), "fro") <= rounding);
  const arma::mat R = Q.t() * G;
  CHECK(arma::norm(Q * R - G, "fro") <= rounding * arma::norm(G, "fro"));
  for (arma::uword i = 0; i < 5; ++i) {
    CHECK(R(i, i) > 0);
    for (arma::uword j = 0; j < i; ++j) CHECK(std::abs(R(i, j)) <= rounding * 9);
  }
  CHECK(arma::norm(draw_orthonormal(trial, "name", 9, 2) - Q.head_cols(2), "fro") <= rounding);
}

TEST_CASE(
    "Assumption F: the signal consists of the spikes on U, and the bulk has the drawn spectrum on "
    "other axes") {
  const SpikedShape shape = shape_of(20, 3, 0.6, 1.0);
  const SpikedGram gram = draw_spiked_gram(trial, shape);
  CHECK(arma::norm(gram.S * gram.U - gram.U * arma::diagmat(gram.spikes), "fro") <= rounding * 20);
  CHECK(arma::trace(gram.S) == doctest::Approx(arma::accu(gram.spikes)).epsilon(rounding));
  CHECK(arma::norm(gram.S, "fro") == doctest::Approx(arma::norm(gram.spikes)).epsilon(rounding));
  CHECK(arma::approx_equal(gram.S, gram.S.t(), "absdiff", 0.0));
  CHECK(arma::approx_equal(gram.Sigma, gram.Sigma.t(), "absdiff", 0.0));

  std::vector<double> bulk(20);
  trial.stream("bulk/d=20").fill_uniform(bulk, 0.5, 1.5);
  std::sort(bulk.begin(), bulk.end());
  const arma::vec w = arma::eig_sym(gram.Sigma);
  for (arma::uword i = 0; i < 20; ++i) CHECK(w(i) == doctest::Approx(bulk[i]).epsilon(rounding));
  // The parts have no common basis, so they do not commute.
  CHECK(arma::norm(gram.S * gram.Sigma - gram.Sigma * gram.S, "fro") > 1.0);
}

TEST_CASE(
    "Assumption H: the cross-Gram signal shares U and the spikes, and half of the bulk's singular "
    "values are 0") {
  for (const std::uint64_t d : {20u, 21u}) {
    const SpikedShape shape = shape_of(d, 3, 0.6, 1.0);
    const SpikedGram gram = draw_spiked_gram(trial, shape);
    const SpikedCrossGram cross = draw_spiked_cross_gram(trial, shape, gram);
    CHECK(arma::norm(cross.V.t() * cross.V - arma::eye(3, 3), "fro") <= rounding);
    CHECK(arma::norm(cross.H * gram.U - cross.V * arma::diagmat(gram.spikes), "fro") <=
          rounding * 20);
    CHECK(arma::norm(cross.H - cross.H * gram.U * gram.U.t(), "fro") <= rounding * 20);
    CHECK(arma::norm(cross.V.t() * gram.U, "fro") > 1e-3);  // V and U are different directions
    CHECK(arma::norm(cross.V.t() * gram.U - arma::eye(3, 3), "fro") > 0.5);

    CHECK(arma::norm(cross.Sigma * cross.Sigma.t() - cross.Sigma.t() * cross.Sigma, "fro") >
          0.5);  // left and right differ
    const arma::vec s = descending_singular_values(cross.Sigma);
    CHECK(s.max() <= 1.5);
    CHECK(s(9) >= 0.5);
    CHECK(s(10) <= rounding);
    CHECK(arma::approx_equal(cross.B(), cross.H + cross.Sigma, "absdiff", 0.0));
  }
}

TEST_CASE(
    "the draws for one size do not depend on other sizes, and the directions not on the "
    "exponents") {
  const SpikedGram one = draw_spiked_gram(trial, shape_of(16, 2, 0.6, 1.0)),
                   other = draw_spiked_gram(trial, shape_of(16, 2, 0.8, 0.9));
  CHECK(arma::approx_equal(one.U, other.U, "absdiff", 0.0));
  CHECK(arma::approx_equal(one.Sigma, other.Sigma, "absdiff", 0.0));
  const SpikedGram larger = draw_spiked_gram(trial, shape_of(17, 2, 0.6, 1.0));
  CHECK(std::abs(larger.U(0, 0) - one.U(0, 0)) > 1e-6);
}

}  // namespace spiked_gram_test
