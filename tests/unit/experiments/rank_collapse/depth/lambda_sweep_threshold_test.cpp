#include "experiments/rank_collapse/depth/lambda_sweep.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "core/tolerances.hpp"

namespace lambda_sweep_threshold_test {

using namespace ranklab;
using namespace ranklab::lambda_sweep;

TEST_CASE("the bracket lies between the largest strength that fails and the next one") {
  const std::vector<double> lambda = {-3, -2, -1, 0, 1, 2, 3, 4};
  // k: kept, f: failed                k   f   k  f  k  f  k  k
  const std::vector<bool> kept = {true, false, true, false, true, false, true, true};
  const SkipBracket up = skip_bracket(lambda, kept, 1), down = skip_bracket(lambda, kept, -1);
  CHECK(up.fails == 2);  // lambda = 1 is kept, but 2 fails
  CHECK(up.keeps == 3);
  CHECK(down.fails == 2);
  CHECK(down.keeps == 3);
  CHECK(points_inside(up, 3) == std::vector<double>{2.25, 2.5, 2.75});
  CHECK(points_inside(up, 0).empty());
}

TEST_CASE(
    "a sign whose largest strength fails has no bracket, and neither has a sign that never fails") {
  const std::vector<double> lambda = {-1, 0, 1};
  const SkipBracket none = skip_bracket(lambda, {false, true, true}, -1),
                    all = skip_bracket(lambda, {false, true, true}, 1);
  CHECK(std::isnan(none.keeps));
  CHECK(none.fails == 1);
  CHECK(points_inside(none, 9).empty());
  CHECK(all.keeps == 0);  // lambda = 0 counts for both signs
  CHECK(std::isnan(all.fails));
  CHECK(points_inside(all, 9).empty());
}

TEST_CASE("the thresholds of Theorem 4.1 satisfy its condition and its hypothesis with equality") {
  const SkipTheorem theorem{1.5, 3.0, 20, 8, 12, 15.0};
  const double a = theorem.collapse_rate(0.2);
  CHECK(std::pow(a, 12) * 15.0 == doctest::Approx(0.2).epsilon(tolerance::closed_form<double>));

  const double mixing = 1.5 * 3.0, at_condition = theorem.condition_threshold(a);
  CHECK(at_condition * at_condition == doctest::Approx(a * std::pow(mixing + at_condition, 2))
                                           .epsilon(tolerance::closed_form<double>));

  const double lambda = theorem.hypothesis_threshold(a);
  CHECK(lambda > at_condition);
  const double b = std::pow(a, -12) * 2 * lambda * 20 * 8 * mixing /
                   (lambda * lambda - a * std::pow(mixing + lambda, 2));
  CHECK(b == doctest::Approx(15.0).epsilon(1e3 * tolerance::closed_form<double>));
}

TEST_CASE("no rate is defined for a threshold of at least the initial value") {
  const SkipTheorem theorem{1, 1, 4, 4, 3, 2.0};
  CHECK(std::isnan(theorem.collapse_rate(2.0)));
  CHECK(std::isnan(theorem.collapse_rate(3.0)));
}

}  // namespace lambda_sweep_threshold_test
