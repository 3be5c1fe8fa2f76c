// One step of each kind, compared with closed forms and with losses computed by loops.
#include "experiments/one_step_compare/regression/regression.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "core/tolerances.hpp"

namespace regression_steps_test {

using namespace ranklab;
using namespace ranklab::regression;

namespace {

doctest::Approx equal_to(double expected) {
  return doctest::Approx(expected).epsilon(tolerance::residual<double>);
}

arma::mat drawn(const Trial& trial, const char* name, arma::uword rows, arma::uword columns) {
  arma::mat out(rows, columns);
  trial.stream(name).fill_normal({out.memptr(), out.n_elem});
  return out;
}

OneStepProblem drawn_problem(std::uint64_t seed, arma::uword m, arma::uword k, arma::uword n) {
  const Trial trial(seed, 0, 0);
  return {drawn(trial, "A", k, n), drawn(trial, "W", m, k), drawn(trial, "Y", m, n)};
}

// ||W A - Y||_F^2 / (2 n), computed entry by entry.
double loss_by_loops(const OneStepProblem& p, const arma::mat& W) {
  double sum = 0;
  for (arma::uword i = 0; i < W.n_rows; ++i) {
    for (arma::uword j = 0; j < p.A.n_cols; ++j) {
      double entry = -p.Y(i, j);
      for (arma::uword l = 0; l < W.n_cols; ++l) entry += W(i, l) * p.A(l, j);
      sum += entry * entry;
    }
  }
  return sum / (2.0 * double(p.A.n_cols));
}

// LAPACK's singular value decomposition of the gradient.
struct Reference {
  arma::mat G, U, V;
  arma::vec s;
};

Reference reference(const OneStepProblem& p) {
  Reference out;
  out.G = (p.W * p.A - p.Y) * p.A.t() / double(p.A.n_cols);
  REQUIRE(arma::svd_econ(out.U, out.s, out.V, out.G, "both", "std"));
  return out;
}

}  // namespace

TEST_CASE("both steps have the values worked out by hand on a diagonal problem") {
  // R = diag(3, 4), A = diag(2, 1) and n = 2 give G = diag(3, 2), L_F = 2 and L_op = 5/2.
  const OneStepProblem problem{arma::diagmat(arma::vec{2, 1}), arma::mat(2, 2, arma::fill::zeros),
                               arma::diagmat(arma::vec{-3, -4})};
  const StepComparison c = compare_steps(problem);
  CHECK(c.loss == equal_to(25.0 / 4));
  CHECK(c.L_F == equal_to(2));
  CHECK(c.L_op == equal_to(2.5));
  CHECK(c.nuclear_rank == equal_to(25.0 / 13));
  CHECK(c.stable_rank_G == equal_to(13.0 / 9));
  CHECK(c.predicted_ratio() == equal_to(20.0 / 13));
  CHECK(c.guarantee_gd() == equal_to(13.0 / 4));
  CHECK(c.guarantee_specgd() == equal_to(5));
  CHECK(c.decrease_gd() == equal_to(4));
  CHECK(c.decrease_specgd() == equal_to(5));  // for a square polar factor the guarantee is exact
  const Conditions each = conditions(c.nuclear_rank, c.stable_rank_G, c.stable_rank_A, 3.0);
  CHECK(each.eq_4_18 == equal_to(20.0 / 13));
  CHECK(each.eq_4_17 == equal_to((25.0 / 13 + 3) / (1.25 + 3)));
  CHECK(each.eq_4_16 == equal_to(25.0 / 13 * (1 + 27.0 / 13) / (1.25 + 3)));
}

TEST_CASE("a spectral step is determined if no singular value is near its rounding error") {
  // As above with Y = diag(-3, -e), so G = diag(3, e / 2); the bound on its rounding error is 2
  // epsilon times ||Y||_F = 3 times ||A||_op = 2 over n = 2, which is 1.3e-15.
  const auto steps = [](double e) {
    return compare_steps(OneStepProblem{arma::diagmat(arma::vec{2, 1}),
                                        arma::mat(2, 2, arma::fill::zeros),
                                        arma::diagmat(arma::vec{-3, -e})});
  };
  CHECK(steps(1.0).determined);
  CHECK(steps(1e-12).determined);
  CHECK_FALSE(steps(1e-13).determined);  // kept, but its direction may be off by a percent
  CHECK(steps(1e-13).nuclear_rank > 1.0);
  CHECK(steps(1e-15).determined);  // removed, so the step is that of 3 alone
  CHECK(steps(1e-15).nuclear_rank == 1.0);
  CHECK_FALSE(compare_steps(OneStepProblem{arma::mat(1, 1, arma::fill::ones),
                                           arma::mat(1, 1, arma::fill::ones),
                                           arma::mat(1, 1, arma::fill::ones)})
                  .determined);  // a zero gradient
}

TEST_CASE("decreases equal those of the loss itself, with and without the term of C_op") {
  for (const auto& [m, k, n] : {std::array<arma::uword, 3>{4, 7, 12}, {7, 4, 3}, {5, 5, 5}}) {
    const OneStepProblem p = drawn_problem(m, m, k, n);
    const StepComparison c = compare_steps(p);
    const Reference r = reference(p);
    const arma::vec a = arma::svd(p.A);
    const double L_F = a(0) * a(0) / double(n), L_op = arma::dot(a, a) / double(n),
                 before = loss_by_loops(p, p.W);
    for (const double C_op : {0.0, 0.3 * L_F, 20 * L_F}) {
      const auto extra = [&](const arma::mat& U) {
        return C_op / 2 * std::pow(arma::as_scalar(r.U.col(0).t() * U * r.V.col(0)), 2);
      };
      const double st_G = arma::dot(r.s, r.s) / (r.s(0) * r.s(0));
      const arma::mat gd = -r.G / (L_F + C_op / st_G);
      const arma::mat specgd = -arma::accu(r.s) / (L_op + C_op) * r.U * r.V.t();
      CHECK(c.decrease_gd(C_op) == equal_to(before - loss_by_loops(p, p.W + gd) - extra(gd)));
      CHECK(c.decrease_specgd(C_op) ==
            equal_to(before - loss_by_loops(p, p.W + specgd) - extra(specgd)));
      CHECK(c.guarantee_gd(C_op) == equal_to(arma::dot(r.s, r.s) / (2 * (L_F + C_op / st_G))));
      CHECK(c.guarantee_specgd(C_op) ==
            equal_to(std::pow(arma::accu(r.s), 2) / (2 * (L_op + C_op))));
      if (C_op > 0) continue;
      CHECK(c.loss_difference_gd == equal_to(c.decrease_gd()));
      CHECK(c.loss_difference_specgd == equal_to(c.decrease_specgd()));
    }
  }
}

TEST_CASE("singular values that are noise are removed from the gradient and its polar factor") {
  const Trial trial(3, 0, 0);
  const arma::mat u = arma::normalise(drawn(trial, "u", 6, 1)),
                  v = arma::normalise(drawn(trial, "v", 5, 1));
  const arma::mat G = 4 * u * v.t() + 1e-13 * drawn(trial, "noise", 6, 5);
  const GradientParts kept = gradient_parts(G, 1e-11);
  CHECK(arma::norm(kept.polar - u * v.t(), "fro") < 1e-11);
  CHECK(kept.nuclear_rank == equal_to(1));
  CHECK(gradient_parts(G, 0.0).nuclear_rank > 1.0);
  const GradientParts none = gradient_parts(G, 5.0);
  CHECK(none.zero());
  CHECK(arma::norm(none.polar, "fro") == 0);
  CHECK(std::isnan(none.nuclear_rank));
}

TEST_CASE("smooth losses: slopes and changes equal differences of the loss") {
  const auto value = [](SmoothLoss loss, long double z, long double y) {
    return loss == SmoothLoss::log_cosh ? std::log(std::cosh(z - y)) : std::log1p(std::exp(-y * z));
  };
  for (const SmoothLoss loss : {SmoothLoss::log_cosh, SmoothLoss::logistic}) {
    for (const double z : {-3.0, -0.2, 0.0, 1.7}) {
      for (const double y : {-1.0, 1.0}) {
        const long double h = 1e-6L;
        CHECK(loss_slope(loss, z, y) ==
              doctest::Approx(double((value(loss, z + h, y) - value(loss, z - h, y)) / (2 * h)))
                  .epsilon(1e-8));
        for (const double step : {-5.0, -0.3, 1e-3, 0.9, 2.5}) {
          CHECK(
              loss_change(loss, z, y, step) ==
              doctest::Approx(double(value(loss, z + step, y) - value(loss, z, y))).epsilon(1e-12));
        }
        // The loss is convex and lies below the parabola of the largest curvature.
        for (const double step : {-4.0, 0.01, 3.0}) {
          const double excess = loss_change(loss, z, y, step) - loss_slope(loss, z, y) * step;
          CHECK(excess >= 0);
          CHECK(excess <=
                loss_curvature(loss) * step * step / 2 * (1 + tolerance::residual<double>));
        }
      }
    }
  }
}

TEST_CASE(
    "in the quadratic range of log cosh, a step that is n times too long overshoots by a known "
    "factor") {
  // With A = (1 ... 1), f(W A) = W^2 / 2. The step 1 reaches the minimum, and the step n ends at (1
  // - n) W.
  const arma::uword n = 4;
  const arma::mat A(1, n, arma::fill::ones), W(1, 1, arma::fill::value(1e-6)),
      Y(1, n, arma::fill::zeros);
  const SmoothComparison c = compare_smooth_steps(SmoothLoss::log_cosh, A, W, Y);
  const auto quadratic = [](double expected) { return doctest::Approx(expected).epsilon(1e-9); };
  CHECK(c.corrected.gd == quadratic(1));
  CHECK(c.corrected.specgd == quadratic(1));
  CHECK(c.as_printed.gd == quadratic(2 - double(n)));
  CHECK(c.as_printed.specgd == quadratic(2 - double(n)));
}

TEST_CASE("the decreases of smooth steps equal those of losses computed by loops") {
  const OneStepProblem p = drawn_problem(8, 3, 4, 6);
  const double n = 6;
  const auto loss = [&](const arma::mat& W) {
    const arma::mat Z = W * p.A;
    double sum = 0;
    for (arma::uword i = 0; i < Z.n_elem; ++i) sum += std::log(std::cosh(Z(i) - p.Y(i)));
    return sum / n;
  };
  // The gradient by central differences.
  arma::mat G(3, 4);
  for (arma::uword i = 0; i < G.n_elem; ++i) {
    arma::mat up = p.W, down = p.W;
    up(i) += 1e-5;
    down(i) -= 1e-5;
    G(i) = (loss(up) - loss(down)) / 2e-5;
  }
  arma::mat U, V;
  arma::vec s;
  REQUIRE(arma::svd_econ(U, s, V, G, "both", "std"));
  const arma::vec a = arma::svd(p.A);
  const SmoothComparison c = compare_smooth_steps(SmoothLoss::log_cosh, p.A, p.W, p.Y);
  const double differences = 1e-7;  // the error of the central differences
  for (const bool printed : {false, true}) {
    const double factor = printed ? 1 / n : 1.0, A_F2 = arma::dot(a, a);
    const double alpha = a(0) * a(0) / n * factor, beta = A_F2 / n * factor;
    const double gd = (loss(p.W) - loss(p.W - G / alpha)) / (arma::dot(s, s) / (2 * alpha));
    const double specgd = (loss(p.W) - loss(p.W - arma::accu(s) / beta * U * V.t())) /
                          (std::pow(arma::accu(s), 2) / (2 * beta));
    const SmoothRatios& ratios = printed ? c.as_printed : c.corrected;
    CHECK(ratios.gd == doctest::Approx(gd).epsilon(differences));
    CHECK(ratios.specgd == doctest::Approx(specgd).epsilon(differences));
  }
}

TEST_CASE("the diagonal block: gradient, curvatures and decreases equal those computed by loops") {
  const Trial trial(9, 0, 0);
  const arma::uword k = 5, n = 8;
  const arma::mat A = drawn(trial, "A", k, n), Y = drawn(trial, "Y", k, n);
  const arma::vec gamma = drawn(trial, "gamma", k, 1);
  const DiagonalComparison c = compare_diagonal_steps(A, gamma, Y);
  const auto loss = [&](const arma::vec& at) {
    double sum = 0;
    for (arma::uword i = 0; i < k; ++i) {
      for (arma::uword j = 0; j < n; ++j) sum += std::pow(at(i) * A(i, j) - Y(i, j), 2);
    }
    return sum / (2.0 * double(n));
  };
  arma::vec g(k);
  for (arma::uword i = 0; i < k; ++i) {
    g(i) = 0;
    for (arma::uword j = 0; j < n; ++j)
      g(i) += (gamma(i) * A(i, j) - Y(i, j)) * A(i, j) / double(n);
  }
  CHECK(c.norm_1 == equal_to(arma::accu(arma::abs(g))));
  CHECK(c.norm_2_squared == equal_to(arma::accu(g % g)));
  for (const double L : {c.L_F, c.L_F_sharp}) {
    CHECK(c.decrease_gd(L) == equal_to(loss(gamma) - loss(gamma - g / L)));
    CHECK(c.guarantee_gd(L) == equal_to(arma::accu(g % g) / (2 * L)));
  }
  const arma::vec step = -c.norm_1 / c.L_sign * arma::sign(g);
  CHECK(c.decrease_sign() == equal_to(loss(gamma) - loss(gamma + step)));
  // C_op is a curvature along the largest entry of g; it fully affects both steps.
  const double C_op = 0.7, a = c.L_F + C_op * c.norm_inf * c.norm_inf / c.norm_2_squared,
               b = c.L_sign + C_op;
  const double gd = loss(gamma) - loss(gamma - g / a) - C_op / 2 * std::pow(c.norm_inf / a, 2);
  const double sign = loss(gamma) - loss(gamma - c.norm_1 / b * arma::sign(g)) -
                      C_op / 2 * std::pow(c.norm_1 / b, 2);
  CHECK(c.decrease_gd(c.L_F, C_op) == equal_to(gd));
  CHECK(c.decrease_sign(C_op) == equal_to(sign));
}

TEST_CASE(
    "diagonal block: the largest row is the best Euclidean constant, ||A||_F^2 the best sup-norm "
    "constant") {
  const Trial trial(10, 0, 0);
  const arma::mat A = drawn(trial, "A", 6, 9), directions = drawn(trial, "directions", 6, 200);
  const DiagonalComparison c = compare_diagonal_steps(A, arma::vec(6, arma::fill::zeros), A);
  const auto gain = [&](const arma::vec& delta) {
    return std::pow(arma::norm(arma::diagmat(delta) * A, "fro"), 2) / 9;
  };
  double largest_unit = 0;
  for (arma::uword i = 0; i < 6; ++i) {
    arma::vec unit(6, arma::fill::zeros);
    unit(i) = 1;
    largest_unit = std::fmax(largest_unit, gain(unit));
  }
  CHECK(c.L_F_sharp == equal_to(largest_unit));
  CHECK(c.L_sign == equal_to(gain(arma::vec(6, arma::fill::ones))));
  CHECK(c.L_F == equal_to(std::pow(arma::svd(A)(0), 2) / 9));
  CHECK(c.L_F_sharp < c.L_F);
  for (arma::uword t = 0; t < directions.n_cols; ++t) {
    const arma::vec delta = directions.col(t);
    CHECK(gain(delta) <= c.L_F_sharp * arma::dot(delta, delta));
    CHECK(gain(delta) <= c.L_sign * std::pow(arma::abs(delta).max(), 2));
  }
}

}  // namespace regression_steps_test
