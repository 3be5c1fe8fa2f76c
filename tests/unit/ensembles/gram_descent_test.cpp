// Compares the closed form of gradient descent with the iteration and with known spectra.
#include "ensembles/gram_descent.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>

#include "core/error.hpp"
#include "core/tolerances.hpp"
#include "ensembles/random_features.hpp"

namespace gram_descent_test {

using namespace ranklab;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

doctest::Approx close(double expected, double tolerance = tolerance::residual<double>) {
  return doctest::Approx(expected).scale(0).epsilon(tolerance);
}

struct Regression {
  arma::mat A, Y;  // (k, n), (m, n)
  double n() const { return static_cast<double>(A.n_cols); }
  arma::mat B() const { return A * A.t() / n(); }
  arma::mat gradient(const arma::mat& W) const { return (W * A - Y) * A.t() / n(); }
  double loss(const arma::mat& W) const {
    return std::pow(arma::norm(W * A - Y, "fro"), 2) / (2 * n());
  }
  arma::mat origin() const { return arma::mat(Y.n_rows, A.n_rows, arma::fill::zeros); }
};

// Labels that no W reproduces if n > k.
Regression draw(arma::uword m, arma::uword k, arma::uword n) {
  const Streams trial(3, 0);
  Regression problem;
  problem.A = draw_gaussian<double>(trial, "A", k, n, 1.0) + 0.5;  // a nonzero mean gives a spike
  problem.Y = draw_gaussian<double>(trial, "Y", m, n, 1.0);
  return problem;
}

std::string failure(const arma::mat& G_0, const arma::mat& B, double eta) {
  try {
    GramDescent(G_0, B, eta);
  } catch (const Failure& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("gradients, singular values and nuclear ranks equal those of the iterates") {
  for (const arma::uword m : {3u, 6u, 9u}) {
    for (const arma::uword n : {4u, 20u}) {  // for n = 4, B has a kernel
      const Regression problem = draw(m, 6, n);
      const arma::mat B = problem.B();
      const double norm = arma::eig_sym(B).max();
      for (const double eta : {1 / norm, 1 / (2 + norm), 0.5 / norm, 1.7 / norm}) {
        const GramDescent descent(problem.gradient(problem.origin()), B, eta);
        CHECK(descent.lambda()(0) == close(norm));
        arma::mat W = problem.origin();
        for (std::uint64_t t = 0; t <= 40; ++t) {
          const arma::mat G = problem.gradient(W);
          CAPTURE(m);
          CAPTURE(n);
          CAPTURE(eta);
          CAPTURE(t);
          CHECK(arma::norm(descent.gradient(t) - G, "fro") <= 1e-13 * norm);
          CHECK(std::exp(descent.log_frobenius(static_cast<double>(t))) ==
                close(arma::norm(G, "fro"), 1e-10));
          if (t % 8 <= 1) {
            const arma::vec s = arma::svd(G);
            const arma::vec up_to_scale = descent.singular_values(t);
            CHECK(arma::norm(up_to_scale / up_to_scale(0) - s / s(0)) < 1e-10);
            CHECK(descent.nuclear_rank(t) ==
                  close(std::pow(arma::accu(s), 2) / arma::dot(s, s), 1e-10));
          }
          W -= eta * G;
        }
      }
    }
  }
}

TEST_CASE("with_step and with_eta agree with the constructor at another step") {
  const Regression problem = draw(4, 5, 12);
  const arma::mat B = problem.B(), G_0 = problem.gradient(problem.origin());
  const double norm = arma::eig_sym(B).max();
  const GramDescent descent = GramDescent::with_step(G_0, B, 2.0);
  CHECK(descent.eta() == close(1 / (2 * norm)));
  CHECK(descent.nuclear_rank(7) == close(GramDescent(G_0, B, 1 / (2 * norm)).nuclear_rank(7)));
  CHECK(descent.with_eta(0.3 / norm).nuclear_rank(7) ==
        close(GramDescent(G_0, B, 0.3 / norm).nuclear_rank(7)));
  CHECK(GramDescent::step(arma::vec{4, 1}, 2, 0) == 0.125);
  CHECK(GramDescent::step(arma::vec{4, 1}, 1, 1) == 0.2);
  CHECK(GramDescent::step(arma::vec{0, 0}, 1, 0) == infinity);
}

TEST_CASE("the decrease to the minimum matches the least-squares solution") {
  for (const arma::uword n : {4u, 20u}) {
    const Regression problem = draw(3, 6, n);
    const GramDescent descent(problem.gradient(problem.origin()), problem.B(), 0.1);
    const arma::mat best = problem.Y * arma::pinv(problem.A);
    CHECK(descent.decrease_to_minimum() ==
          close(problem.loss(problem.origin()) - problem.loss(best), 1e-10));
  }
}

TEST_CASE("late iterates do not underflow: the slowest directions remain") {
  // Factors 0, 3/4, 3/4 at eta = 1/4: two equal directions remain, although (3/4)^100000
  // underflows.
  const arma::mat B = arma::diagmat(arma::vec{4, 1, 1}), G_0(3, 3, arma::fill::eye);
  const GramDescent descent(G_0, B, 0.25);
  CHECK(descent.nuclear_rank(0) == close(3.0));
  for (const std::uint64_t t : {1ull, 1000ull, 100000ull, 1000000000000ull})
    CHECK(descent.nuclear_rank(t) == close(2.0));
  // With unequal factors only their ratio (5/6)^t counts: nr = (1 + q)^2 / (1 + q^2).
  const GramDescent two(arma::mat(2, 2, arma::fill::eye), arma::diagmat(arma::vec{1.0, 0.4}), 0.5);
  const double q = std::pow(0.5 / 0.8, 5);
  CHECK(two.nuclear_rank(5) == close((1 + q) * (1 + q) / (1 + q * q)));
}

TEST_CASE(
    "the logarithm of the Frobenius norm is right between iterations, late, and for a vanished "
    "gradient") {
  // Factors 0, 3/4, 3/4 at eta = 1/4, from the identity: sqrt(3), then sqrt(2) (3/4)^t.
  const GramDescent descent(arma::mat(3, 3, arma::fill::eye), arma::diagmat(arma::vec{4, 1, 1}),
                            0.25);
  CHECK(descent.log_frobenius(0) == close(std::log(3.0) / 2));
  for (const double t : {0.5, 1.0, 2.25, 1e12})
    CHECK(descent.log_frobenius(t) == close(std::log(2.0) / 2 + t * std::log(0.75)));
  const GramDescent cleared(arma::mat(2, 2, arma::fill::eye), arma::diagmat(arma::vec{2, 0}), 0.5);
  CHECK(cleared.log_frobenius(0) == 0.0);
  CHECK(cleared.log_frobenius(1) == -infinity);
  CHECK(GramDescent(arma::mat(2, 2, arma::fill::zeros), arma::mat(2, 2, arma::fill::eye), 0.5)
            .log_frobenius(0) == -infinity);
}

TEST_CASE("the step 1 / ||B|| removes the top direction exactly") {
  // With c > 0 from a spread of magnitudes, eta * lambda_1 rounds to 1 or to a neighbor of it.
  for (const double top : {3.0, 7.0, 49.0, 0.1, 1e-5, 82.213}) {
    const GramDescent descent = GramDescent::with_step(arma::diagmat(arma::vec{1e14, 1.0}),
                                                       arma::diagmat(arma::vec{top, top / 3}), 1.0);
    CHECK(descent.nuclear_rank(1) == 1.0);
    CHECK(descent.condition(1) == infinity);
    CHECK(descent.condition(0) == close(3.0));
  }
}

TEST_CASE("rounding errors in the kernel of B do not dominate") {
  // Two directions of the kernel have entries of 1e-17, while the others have decayed to
  // (4/5)^1000. If they were kept, the rank would be 2.
  const arma::mat B = arma::diagmat(arma::vec{4, 1, 0, 0});
  const GramDescent descent(arma::mat{{1, 0, 0, 0}, {0, 1, 1e-17, 0}, {0, 0, 0, 1e-17}}, B, 0.2);
  CHECK(descent.nuclear_rank(1000) == close(1.0));
}

TEST_CASE("the condition number of (I - eta B)^t B is right") {
  const arma::mat B = arma::diagmat(arma::vec{4, 2, 1}), G_0(1, 3, arma::fill::ones);
  const GramDescent descent(G_0, B, 0.125);
  CHECK(descent.condition(0) == close(4.0));
  CHECK(descent.condition(1) == close(2 / 0.875));                // 4/2, 2 * 3/4, 7/8
  CHECK(descent.condition(2) == close(1.125 / 0.765625));         // 4/4, 2 * 9/16, 49/64
  CHECK(descent.with_eta(0.375).condition(1) == close(2 / 0.5));  // factors -1/2, 1/4, 5/8
  const GramDescent kernel(G_0, arma::diagmat(arma::vec{4, 2, 0}), 0.125);
  CHECK(kernel.condition(0) == close(2.0));
}

TEST_CASE("a zero Gram matrix has a zero gradient and undefined ranks") {
  const arma::mat zero(3, 3, arma::fill::zeros);
  const GramDescent descent = GramDescent::with_step(arma::mat(2, 3, arma::fill::zeros), zero, 1.0);
  CHECK(arma::norm(descent.singular_values(5)) == 0.0);
  CHECK(std::isnan(descent.nuclear_rank(5)));
  CHECK(std::isnan(descent.condition(1)));
  CHECK(descent.decrease_to_minimum() == 0.0);
}

TEST_CASE("invalid arguments are refused with a message") {
  const arma::mat B(3, 3, arma::fill::eye), G_0(2, 3, arma::fill::ones);
  CHECK(failure(G_0, B, 0.5).empty());
  CHECK(failure(arma::mat(2, 4, arma::fill::ones), B, 0.5).find("2 x 4") != std::string::npos);
  CHECK(failure(arma::mat(2, 4, arma::fill::ones), B, 0.5).find("3 x 3") != std::string::npos);
  CHECK(failure(G_0, arma::mat(3, 2, arma::fill::ones), 0.5).find("3 x 2") != std::string::npos);
  CHECK_FALSE(failure(G_0 * infinity, B, 0.5).empty());
  CHECK_FALSE(failure(G_0, B * infinity, 0.5).empty());
  CHECK(failure(G_0, arma::diagmat(arma::vec{1, 1, -1e-6}), 0.5).find("negative eigenvalue") !=
        std::string::npos);
  CHECK_FALSE(failure(G_0, -B, 0.5).empty());
  CHECK(failure(G_0, arma::diagmat(arma::vec{1, 1, -1e-16}), 0.5).empty());
  for (const double eta : {0.0, -1.0, infinity, std::nan("")})
    CHECK_FALSE(failure(G_0, B, eta).empty());
}

}  // namespace gram_descent_test
