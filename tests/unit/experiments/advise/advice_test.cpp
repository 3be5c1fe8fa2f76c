#include "experiments/advise/advice.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "gaussian.hpp"
#include "linalg/decompositions.hpp"
#include "linalg/spectra.hpp"
#include "report/claims.hpp"

namespace advise_advice_test {

using namespace ranklab;
using namespace ranklab::advise;

namespace {

double loss(const arma::mat& W, const arma::mat& A, const arma::mat& Y) {
  return arma::accu(arma::square(W * A - Y)) / (2.0 * static_cast<double>(A.n_cols));
}

}  // namespace

TEST_CASE(
    "if the ratio settles the advice for least squares, the advised step is at least as good") {
  int spectral = 0, euclidean = 0;
  for (int draw = 0; draw < 400; ++draw) {
    const std::string id = std::to_string(draw);
    const auto drawn = [&](arma::uword rows, arma::uword columns, const char* name) {
      return gaussian(rows, columns, (name + id).c_str());
    };
    // Powers of the singular values of A and low-rank residuals give ratios on both sides of 1.
    const auto svd = thin_svd(drawn(6, 15, "A"));
    const arma::mat A =
        svd.U * arma::diagmat(arma::pow(svd.s, static_cast<double>(draw % 7))) * svd.V.t();
    const arma::uword rank = 1 + static_cast<arma::uword>(draw) % 5;
    const arma::mat W = drawn(5, 6, "W");
    // Even draws choose the residual so that the gradient is a Gaussian matrix; odd draws choose a
    // residual of low rank.
    const arma::mat flat_gradient = drawn(5, 6, "D") * arma::inv_sympd(A * A.t());
    const arma::mat Y =
        (W + (draw % 2 == 0 ? flat_gradient : drawn(5, rank, "u") * drawn(rank, 6, "v"))) * A;
    const double n = static_cast<double>(A.n_cols);
    const arma::mat G = (W * A - Y) * A.t() / n;
    const double ratio = nuclear_rank(G) / stable_rank(A);
    const auto g = thin_svd(G);
    const double L_F = std::pow(operator_norm(A), 2) / n, L_op = arma::accu(arma::square(A)) / n;
    const double gd = loss(W - G / L_F, A, Y),
                 sd = loss(W - arma::accu(g.s) / L_op * g.U * g.V.t(), A, Y);
    if (advantage_of(ratio) == Advantage::spectral) {
      ++spectral;
      CHECK(sd <= gd);
    } else if (advantage_of(ratio) == Advantage::euclidean) {
      ++euclidean;
      CHECK(gd <= sd);
    }
  }
  CHECK(spectral > 20);
  CHECK(euclidean > 20);
}

TEST_CASE("the ratio is divided into four ranges with their advice") {
  CHECK(advantage_of(2.0) == Advantage::spectral);
  CHECK(advantage_of(2.0 * (1 - 1e-12)) == Advantage::spectral);
  CHECK(advantage_of(1.999) == Advantage::spectral_by_guarantee);
  CHECK(advantage_of(1.0 - 1e-12) == Advantage::spectral_by_guarantee);
  CHECK(advantage_of(0.999) == Advantage::euclidean_by_guarantee);
  CHECK(advantage_of(0.501) == Advantage::euclidean_by_guarantee);
  CHECK(advantage_of(0.5 * (1 + 1e-12)) == Advantage::euclidean);
  const auto text = [](double ratio) { return advice_of({ratio}, "").text; };
  CHECK(text(2.0).starts_with("Muon: "));
  CHECK(text(1.999).starts_with("either: the ratio favors Muon"));
  CHECK(text(0.999).starts_with("either: the ratio favors the Euclidean step"));
  CHECK(text(0.5).starts_with("Euclidean: "));
}

TEST_CASE("advice needs a ratio beyond 2 or 1/2, and an interval that does not contain 1") {
  const auto of = [](double ratio, double low, double high) {
    return advice_of({ratio, low, high, 3}, "");
  };
  CHECK(of(2.5, 1.01, 6).settled == Settled::spectral);
  CHECK(of(2.5, 1.01, 6).verdict == "holds");
  CHECK(of(2.5, 1.01, 6).ratio == "2.5 (1.01 to 6)");
  CHECK(of(2.5, 0.99, 6).settled == Settled::nothing);
  CHECK(of(2.5, 0.99, 6).verdict == "undecided");
  CHECK(of(2.5, 0.99, 6).text == "either: the interval contains 1");
  CHECK(of(0.4, 0.2, 0.99).settled == Settled::euclidean);
  CHECK(of(0.4, 0.2, 0.99).verdict == "fails");
  CHECK(of(1.5, 1.4, 1.6).settled == Settled::nothing);
  CHECK(advice_of({2.5}, "").settled == Settled::spectral);  // no interval
  // Two values give advice, but no claim.
  CHECK(advice_of({2.5, 1.5, 4, 2}, "").settled == Settled::spectral);
  CHECK(advice_of({2.5, 1.5, 4, 2}, "").verdict == "undecided");
  const Statement statement{"spectral/eq-1.8", "fc/eq-1.8", "", ""};
  CHECK(judge_interval(statement, {2.5, 1.5, 4, 0.99, 2, 4}, at_least(1)).undecided);
  CHECK(judge_interval(statement, {2.5, 1.5, 4, 0.99, 3, 5}, at_least(1)).verdict ==
        Verdict::holds);
  CHECK(judge_interval(statement, {0.5, 0.3, 0.9, 0.99, 3, 5}, at_least(1)).verdict ==
        Verdict::fails);
  CHECK(judge_interval(statement, {1.5, 0.9, 3, 0.99, 3, 5}, at_least(1)).undecided);
  CHECK(advice_of({2.5}, "").ratio == "2.5");
  CHECK(advice_of({2.5}, "head").text.ends_with("; the paper keeps Euclidean steps for the head"));
}

}  // namespace advise_advice_test
