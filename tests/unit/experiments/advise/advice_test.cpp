#include "experiments/advise/advice.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "core/statistics.hpp"
#include "gaussian.hpp"
#include "linalg/decompositions.hpp"
#include "linalg/spectra.hpp"

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
  CHECK(words_for(Advantage::spectral).advice.starts_with("Muon: "));
  CHECK(words_for(Advantage::spectral_by_guarantee).advice.starts_with("either: "));
  CHECK(words_for(Advantage::euclidean_by_guarantee).advice.starts_with("either: "));
  CHECK(words_for(Advantage::euclidean).advice.starts_with("keep Adam/SGD: "));
}

TEST_CASE(
    "advice needs the ratio of one batch, the interval over several batches, or four fifths of the "
    "steps") {
  const auto of = [](const std::vector<double>& ratios, double joined = std::nan("")) {
    return StepRatio{summarize(ratios), joined};
  };
  CHECK(advice_of({{-1, of({2.5})}}, "").settled == Settled::spectral);
  CHECK(advice_of({{-1, of({2.5})}}, "").ratio == "2.5");
  // Student's 99 % interval for three batches extends 9.92 standard errors to either side.
  CHECK(advice_of({{-1, of({2.4, 2.5, 2.6})}}, "").settled == Settled::nothing);
  CHECK(advice_of({{-1, of({2.49, 2.5, 2.51})}}, "").settled == Settled::spectral);
  CHECK(advice_of({{-1, of({2.49, 2.5, 2.51})}}, "").ratio == "2.5 +- 0.0573");
  CHECK(advice_of({{-1, of({0.39, 0.4, 0.41})}}, "").settled == Settled::euclidean);
  // The ratio of the joined batches must agree.
  CHECK(advice_of({{-1, of({2.49, 2.5, 2.51}, 2.1)}}, "").settled == Settled::spectral);
  CHECK(advice_of({{-1, of({2.49, 2.5, 2.51}, 1.9)}}, "").settled == Settled::nothing);
  CHECK(advice_of({{-1, of({2.4, 2.5, 2.6}, 2.5)}}, "").text ==
        "either: the 99 % interval over 3 batches does not settle which step is ahead");
  CHECK(advice_of({{-1, of({0.9, 1.0, 1.1})}}, "").verdict == "undecided");
  std::map<std::int64_t, StepRatio> steps;
  for (int step = 0; step < 10; ++step) steps[step] = of({step < 8 ? 3.0 : 1.5});
  CHECK(advice_of(steps, "").settled == Settled::spectral);
  CHECK(advice_of(steps, "").text == "Muon in 8, either in 2 of 10 steps");
  CHECK(advice_of(steps, "").verdict == "10 of 10 steps");
  CHECK(advice_of(steps, "head").text.ends_with("; the paper keeps Euclidean steps for the head"));
  steps[7] = of({0.4});
  const Advice mixed = advice_of(steps, "");
  CHECK(mixed.settled == Settled::nothing);
  CHECK(mixed.text == "either: Muon in 7, either in 2, keep Adam/SGD in 1 of 10 steps");
  CHECK(mixed.ratio == "0.4 to 3");
  CHECK(mixed.verdict == "9 of 10 steps");
}

}  // namespace advise_advice_test
