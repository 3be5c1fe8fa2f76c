// The quantities of [Shallow] Section 2.2 agree with dense projections in the paper's own layout
// (tokens in rows), with closed forms for circulant attention, and with sample means.
#include "experiments/rank_collapse/token_escalation.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "core/statistics.hpp"
#include "core/tolerances.hpp"
#include "gaussian.hpp"

namespace token_escalation_measures_test {

using namespace ranklab;

namespace {

constexpr double rounding = tolerance::residual<double>;

doctest::Approx close(double expected, double relative = rounding) {
  return doctest::Approx(expected).scale(0).epsilon(relative);
}

arma::mat shared_projection(arma::uword N) {
  return arma::mat(N, N, arma::fill::ones) / static_cast<double>(N);
}
arma::mat rest_projection(arma::uword N) {
  return arma::mat(N, N, arma::fill::eye) - shared_projection(N);
}
double squared(const arma::mat& A) {
  return arma::accu(arma::square(A));
}

// A row-stochastic matrix; a larger spread makes the rows differ more.
arma::mat stochastic(arma::uword N, double spread, const char* name) {
  arma::mat P = arma::exp(spread * gaussian(N, N, name));
  P.each_col() /= arma::sum(P, 1);
  return P;
}

// sum_j weights[j] S^j for the cyclic shift S of N tokens. Its eigenvalues are the discrete Fourier
// transform of the weights.
arma::mat circulant(arma::uword N, const std::vector<double>& weights) {
  arma::mat P(N, N, arma::fill::zeros);
  for (arma::uword i = 0; i < N; ++i) {
    for (arma::uword j = 0; j < weights.size(); ++j) P(i, (i + j) % N) += weights[j];
  }
  return P;
}

}  // namespace

TEST_CASE(
    "token escalation: the measures of a head equal the paper's definitions, written with "
    "projections") {
  for (const double spread : {0.1, 1.0, 5.0}) {
    CAPTURE(spread);
    const arma::uword N = 7, d = 5;
    const arma::mat X = gaussian(N, d, "X"), P = stochastic(N, spread, "P");
    const arma::vec e = arma::vec(N, arma::fill::ones) / std::sqrt(static_cast<double>(N));
    const arma::mat Pi_1 = shared_projection(N), Pi_2 = rest_projection(N);
    const HeadMeasures head = head_measures(P.t(), X.t());
    CHECK(head.omega == close(arma::norm(arma::rowvec(e.t() * P * Pi_2 * X)) /
                              arma::norm(arma::rowvec(e.t() * X))));
    CHECK(head.delta == close(arma::svd(arma::mat(Pi_2 * P)).max()));
    CHECK(head.mu_1_squared == close(squared(Pi_1 * P * X) / squared(Pi_1 * X)));
    CHECK(head.mu_2_squared == close(squared(Pi_2 * P * X) / squared(Pi_2 * X)));
    CHECK(head.mu_1_bound() == close(std::pow(1 - head.omega, 2)));
    CHECK(head.mu_2_bound() == close(std::pow(head.delta, 2)));

    arma::vec moduli = arma::sort(arma::abs(arma::eig_gen(P)), "descend");
    CHECK(moduli[0] == close(1.0));
    CHECK(second_eigenvalue(P.t()) == close(moduli[1]));
    CHECK(asymmetry(P) == close(std::sqrt(squared(P - P.t()) / squared(P))));
  }
}

TEST_CASE(
    "token escalation: xi and the rate of a step equal their definitions and satisfy the identity "
    "(6)") {
  for (const char* name : {"Y1", "Y2", "Y3", "Y4"}) {
    const arma::uword N = 6, d = 9;
    const arma::mat X = gaussian(N, d, "X"), Y = gaussian(N, d, name) + 0.5;
    const arma::mat Pi_1 = shared_projection(N), Pi_2 = rest_projection(N);
    const Escalation step =
        measure_escalation(token_parts<double>(X.t()), token_parts<double>(Y.t()));
    CHECK(step.xi_1 == close(squared(Pi_1 * Y) / squared(Pi_1 * X)));
    CHECK(step.xi_2 == close(squared(Pi_2 * Y) / squared(Pi_2 * X)));
    CHECK(step.rate ==
          close((1 - squared(Pi_1 * X) / squared(X)) / (1 - squared(Pi_1 * Y) / squared(Y))));
    const double similarity = squared(Pi_1 * X) / squared(X);
    CHECK(rate_from_excess(step.xi_ratio() - 1, similarity) == close(step.rate));
    CHECK(identity_error(step, similarity) < rounding);
    CHECK(identity_error({step.xi_1, step.xi_2, step.rate + 1}, similarity) ==
          close(1 / (step.rate + 1)));
  }
}

// eq. (17): a symmetric P is doubly stochastic, so omega = 0, mu_1 = 1 and delta = |lambda_2|.
TEST_CASE(
    "token escalation: circulant attention has closed forms and does not move the mean token") {
  const arma::uword N = 12;
  const arma::mat X = gaussian(5, N, "X");
  const auto angle = [](double j) { return 2 * std::numbers::pi * j / 12; };
  SUBCASE("symmetric") {
    std::vector<double> weights(N, 0.0);
    weights[0] = 0.5, weights[1] = weights[11] = 0.15, weights[2] = weights[10] = 0.1;
    double second = 0;
    for (double j = 1; j < 12; ++j)
      second =
          std::max(second, std::abs(0.5 + 0.3 * std::cos(angle(j)) + 0.2 * std::cos(angle(2 * j))));
    const arma::mat P = circulant(N, weights);
    const HeadMeasures head = head_measures(P, X);
    CHECK(head.delta == close(second));
    CHECK(second_eigenvalue(P) == close(second));
    CHECK(head.omega < rounding);
    CHECK(head.mu_1_squared == close(1.0));
    CHECK(asymmetry(P) == 0);
    const StepStrength one;
    CHECK(expected_excess(one, head.mu_1_bound(), head.mu_2_bound()) ==
          close((1 - second * second) / (1 + second * second)));
  }
  SUBCASE("doubly stochastic but not symmetric, with complex eigenvalues") {
    const arma::mat P = circulant(N, {0.7, 0.3});  // eigenvalues 0.7 + 0.3 exp(i angle)
    const double second = std::sqrt(0.49 + 0.09 + 0.42 * std::cos(angle(1)));
    const HeadMeasures head = head_measures(P.t(), X);
    CHECK(head.delta == close(second));
    CHECK(second_eigenvalue(P.t()) == close(second));
    CHECK(head.omega < rounding);
    CHECK(asymmetry(P) == close(std::sqrt(0.18 / 0.58)));
  }
  SUBCASE("no mixing and complete mixing") {
    const arma::mat identity(N, N, arma::fill::eye), mean = shared_projection(N);
    CHECK(second_eigenvalue(identity) == close(1.0));
    CHECK(head_measures(identity, X).delta == close(1.0));
    CHECK(head_measures(identity, X).mu_2_squared == close(1.0));
    CHECK(second_eigenvalue(mean) < rounding);
    CHECK(head_measures(mean, X).delta < rounding);
  }
}

TEST_CASE("token escalation: the bounds (11) hold, also for omega above 1") {
  double largest_omega = 0, smallest_omega = 1;
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h"}) {
    for (const double spread : {0.2, 1.0, 6.0}) {
      for (const double shared : {0.0, 0.3, 3.0}) {
        const HeadMeasures head =
            head_measures(stochastic(8, spread, name).t(), gaussian(4, 8, name) + shared);
        CHECK(head.mu_1_squared >= head.mu_1_bound());
        CHECK(head.mu_2_squared <= head.mu_2_bound());
        largest_omega = std::max(largest_omega, head.omega);
        smallest_omega = std::min(smallest_omega, head.omega);
      }
    }
  }
  CHECK(largest_omega > 1);
  CHECK(smallest_omega < 0.1);
}

TEST_CASE(
    "token escalation: means over heads average the bounds, not omega and delta inside the "
    "bounds") {
  const HeadMeasures one{0.1, 0.2, 1.1, 0.03}, two{0.3, 0.6, 0.7, 0.05};
  const AttentionMeasures mean = mean_over_heads({one, two});
  CHECK(mean.omega == close(0.2));
  CHECK(mean.delta == close(0.4));
  CHECK(mean.mu_1_squared == close(0.9));
  CHECK(mean.mu_2_squared == close(0.04));
  CHECK(mean.mu_1_bound == close((0.81 + 0.49) / 2));
  CHECK(mean.mu_2_bound == close((0.04 + 0.36) / 2));
}

TEST_CASE(
    "token escalation: the strengths of the two terms, and the expectations that follow from "
    "them") {
  ModelSpec spec;
  spec.model = "post-norm";
  spec.heads = 4;
  CHECK(step_strength(spec, 1.0).skip == 1);
  CHECK(step_strength(spec, 1.0).attention == 1);
  spec.weight_variance = "h/d";
  spec.alpha = 3;
  spec.weight_scale = 0.5;
  CHECK(step_strength(spec, -2.0).skip == 4);
  CHECK(step_strength(spec, -2.0).attention == 9 * 0.25 * 4);
  const StepStrength strength{4, 9};
  CHECK(expected_xi(strength, 0.5) == 8.5);
  CHECK(expected_excess(strength, 0.9, 0.2) == close((4 + 9 * 0.9) / (4 + 9 * 0.2) - 1));
  CHECK(expected_excess(strength, 0.2, 0.2) == 0);
}

// [Shallow] eq. (29), averaged over heads and extended to lambda other than 1.
TEST_CASE("token escalation: E[xi_i] equals the sample mean within its error") {
  const arma::uword N = 6, d = 12, heads = 3, width = d / heads, samples = 4000;
  ModelSpec spec;
  spec.model = "post-norm";
  spec.heads = heads;
  for (const auto& [alpha, lambda, variance] : {std::tuple{1.0, 1.0, "1/d"}, {0.7, -0.4, "h/d"}}) {
    spec.alpha = alpha;
    spec.weight_variance = variance;
    CAPTURE(spec.weight_variance);
    const arma::mat X = gaussian(N, d, "X") + 0.2;
    std::vector<arma::mat> P;
    double mu_1 = 0, mu_2 = 0;
    for (const char* name : {"P1", "P2", "P3"}) {
      P.push_back(stochastic(N, 1.0, name));
      const HeadMeasures head = head_measures(P.back().t(), X.t());
      mu_1 += head.mu_1_squared / 3;
      mu_2 += head.mu_2_squared / 3;
    }
    const double std =
        std::sqrt((variance == std::string("h/d") ? 3.0 : 1.0) / static_cast<double>(d));
    const arma::mat draws = std * gaussian(d, d * samples, "W");
    const TokenParts before = token_parts<double>(X.t());
    std::vector<double> xi_1, xi_2;
    for (arma::uword s = 0; s < samples; ++s) {
      arma::mat Y = lambda * X;
      for (arma::uword k = 0; k < heads; ++k) {
        const arma::mat W_k = draws.cols(s * d + k * width, s * d + (k + 1) * width - 1);
        Y.cols(k * width, (k + 1) * width - 1) += alpha * P[k] * X * W_k;
      }
      const Escalation step = measure_escalation(before, token_parts<double>(Y.t()));
      xi_1.push_back(step.xi_1);
      xi_2.push_back(step.xi_2);
    }
    const StepStrength strength = step_strength(spec, lambda);
    for (const auto& [sampled, expected] : {std::pair{summarize(xi_1), expected_xi(strength, mu_1)},
                                            {summarize(xi_2), expected_xi(strength, mu_2)}}) {
      CHECK(std::abs(sampled.mean - expected) <
            tolerance::standard_errors * standard_error(sampled));
      CHECK(3 * standard_error(sampled) <
            0.05 * expected);  // small enough for the check to notice a wrong formula
    }
  }
}

TEST_CASE(
    "token escalation: mean and deviation of xi equal those of the quadratic form in vec(W)") {
  const arma::uword n = 6, d = 3;
  const double alpha = 0.7, variance = 1.0 / d;
  const arma::mat A = gaussian(n, d, "A"), B = gaussian(n, d, "B");
  // vec(A + alpha B W) = a + K w, with K = alpha (I kron B).
  const arma::mat K = alpha * arma::kron(arma::mat(d, d, arma::fill::eye), B), gram = K.t() * K;
  const arma::vec a = arma::vectorise(A);
  const double mean = arma::dot(a, a) + variance * arma::trace(gram);
  const double square =
      2 * variance * variance * arma::trace(gram * gram) + 4 * variance * squared(K.t() * a);
  const XiLaw law = xi_law(A.t(), B.t(), alpha);
  CHECK(law.mean == close(mean / arma::dot(a, a)));
  CHECK(law.deviation == close(std::sqrt(square) / arma::dot(a, a)));
}

}  // namespace token_escalation_measures_test
