// Second moments as samples, as a whole and as a diagonal: the same numbers.
#include "linalg/second_moment.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>

#include "core/tolerances.hpp"
#include "gaussian.hpp"
#include "linalg/kronecker.hpp"

namespace second_moment_test {

using namespace ranklab;

namespace {

using Moment = SecondMoment<double>;

Moment of_samples(const arma::mat& X) {
  return {MomentForm::samples, X};
}
Moment whole(const arma::mat& X) {
  return {MomentForm::whole, X.t() * X};
}

double difference(double a, double b) {
  return std::fabs(a / b - 1);
}

constexpr double exact = tolerance::closed_form<double>;

}  // namespace

TEST_CASE("the stable rank does not depend on the form, with few and many samples") {
  for (const arma::uword n : {3u, 8u, 20u}) {
    const arma::mat X = gaussian(n, 8, "X");
    const arma::vec s = arma::svd(X);
    const double expected = arma::dot(s, s) / (s(0) * s(0));
    CHECK(difference(stable_rank_of_moment(of_samples(X)), expected) <= exact);
    CHECK(difference(stable_rank_of_moment(whole(X)), expected) <= exact);
  }
  const Moment counts{MomentForm::diagonal, arma::vec{1, 3, 2}};
  CHECK(difference(stable_rank_of_moment(counts), 2) <= exact);
  CHECK(std::isnan(stable_rank_of_moment(of_samples(arma::zeros(2, 3)))));
  CHECK(arma::approx_equal(diagonal_of(counts), arma::vec{1, 3, 2}, "absdiff", 0));
}

TEST_CASE("sums stay samples while there are at most k of them") {
  const arma::mat X = gaussian(3, 8, "X"), Y = gaussian(5, 8, "Y"), Z = gaussian(6, 8, "Z");
  Moment sum = of_samples(X);
  add_to(sum, of_samples(Y));
  CHECK(sum.form == MomentForm::samples);
  const auto is_sum = [&](const arma::mat& expected) {
    const arma::mat found =
        sum.form == MomentForm::samples ? arma::mat(sum.values.t() * sum.values) : sum.values;
    return arma::norm(found - expected, "fro") <= exact * arma::norm(expected, "fro");
  };
  CHECK(is_sum(X.t() * X + Y.t() * Y));
  add_to(sum, of_samples(Z));
  CHECK(sum.form == MomentForm::whole);
  CHECK(is_sum(X.t() * X + Y.t() * Y + Z.t() * Z));
  add_to(sum, whole(X));
  CHECK(is_sum(2 * X.t() * X + Y.t() * Y + Z.t() * Z));
  CHECK_THROWS_AS(add_to(sum, {MomentForm::diagonal, arma::ones(8, 1)}), std::logic_error);
}

TEST_CASE("the quadratic form of every pair of forms, in both precisions") {
  for (const auto& [m, k] : {std::pair(5u, 9u), std::pair(9u, 5u)}) {
    const arma::mat D = gaussian(m, k, "D"), A = gaussian(4, k, "A"), E = gaussian(3, m, "E");
    const arma::mat M = A.t() * A, B = E.t() * E;
    const Moment diagonal{MomentForm::diagonal, M.diag()};
    for (const Moment& inputs : {of_samples(A), whole(A), diagonal}) {
      const arma::mat full = inputs.form == MomentForm::diagonal ? arma::mat(arma::diagmat(M)) : M;
      const double expected = arma::trace(D * full * D.t() * B);
      for (const Moment& outputs : {of_samples(E), whole(E)}) {
        CHECK(difference(kronecker_form(D, inputs, outputs), expected) <= exact);
        Moment scaled = outputs;
        scaled.factor = 0.25;
        CHECK(difference(kronecker_form(D, inputs, scaled), expected / 4) <= exact);
        // Entries of 1e-30 have squares below the range of float.
        Moment tiny = outputs;
        tiny.values *= 1e-30;
        const double unit = outputs.form == MomentForm::samples ? 1e-60 : 1e-30;
        const double single = kronecker_form(scaled_to<float>(D, 1), in_single_precision(inputs),
                                             in_single_precision(tiny));
        CHECK(difference(single, unit * expected) <= tolerance::closed_form<float>);
      }
    }
  }
}

TEST_CASE("large forms in single precision are within 1e-7 of those in double") {
  const arma::mat D = gaussian(160, 420, "D"), A = gaussian(90, 420, "A"),
                  E = gaussian(70, 160, "E");
  for (const arma::mat& along : {D, arma::mat(arma::sign(D))}) {
    for (const Moment& inputs : {of_samples(A), whole(A)}) {
      for (const Moment& outputs : {of_samples(E), whole(E)}) {
        const double single = kronecker_form(
            scaled_to<float>(along, 1), in_single_precision(inputs), in_single_precision(outputs));
        CHECK(difference(single, kronecker_form(along, inputs, outputs)) <= 1e-7);
      }
    }
  }
}

TEST_CASE("a part of a moment") {
  const arma::mat E = gaussian(3, 6, "E"), D = gaussian(2, 4, "D"), A = gaussian(5, 4, "A");
  const arma::uvec rows{4, 1};
  const arma::mat some = E.cols(rows);
  const double expected = arma::trace(D * A.t() * A * D.t() * some.t() * some);
  for (const Moment& outputs : {of_samples(E), whole(E)})
    CHECK(difference(kronecker_form(D, of_samples(A), outputs.part(rows)), expected) <= exact);
}

}  // namespace second_moment_test
