#include "core/fits.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "core/tolerances.hpp"
#include "core/undefined.hpp"

namespace fits_test {

using namespace ranklab;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
using Values = std::vector<double>;

doctest::Approx close(double expected) {
  return doctest::Approx(expected).scale(1).epsilon(tolerance::closed_form<double>);
}

}  // namespace

TEST_CASE("a line fit computed by hand: x = 0..3, y = 0, 1, 1, 3") {
  // S_xx = 5, S_xy = 9/2, S_yy = 19/4; residuals 0.1, 0.2, -0.7, 0.4; their sum of squares is 0.7
  // with 2 degrees of freedom.
  const LineFit fit = fit_line(Values{0, 1, 2, 3}, Values{0, 1, 1, 3});
  CHECK(fit.slope == close(0.9));
  CHECK(fit.intercept == close(-0.1));
  CHECK(fit.slope_error == close(std::sqrt(0.07)));
  CHECK(fit.intercept_error == close(std::sqrt(0.35 * (0.25 + 2.25 / 5))));
  CHECK(fit.r_squared == close(1 - 0.7 / 4.75));
  CHECK(fit.points == 4);
}

TEST_CASE("a fit to points on a line recovers the line, also far from the origin") {
  Values x, y;
  for (int i = 0; i < 7; ++i) {
    x.push_back(1e6 + i * i);
    y.push_back(4 - 0.5 * x.back());  // exact in binary
  }
  const LineFit fit = fit_line(x, y);
  CHECK(fit.slope == close(-0.5));
  CHECK(fit.slope_error < 1e-9);
  CHECK(fit.r_squared == close(1.0));
}

TEST_CASE("a power law is a line in the logarithms") {
  const Values x = {1, 10, 64, 512, 1e5};
  Values y;
  for (const double value : x) y.push_back(3 * std::pow(value, 0.7));
  const LineFit fit = fit_power(x, y);
  CHECK(fit.slope == close(0.7));
  CHECK(std::exp(fit.intercept) == close(3.0));
}

TEST_CASE("values that a fit cannot use are skipped") {
  const LineFit line =
      fit_line(Values{0, 1, 2, 3, undefined, 9}, Values{0, 1, 1, 3, 100, infinity});
  CHECK(line.slope == close(0.9));
  CHECK(line.points == 4);
  const LineFit power = fit_power(Values{2, 4, 8, -1, 0, 16}, Values{4, 16, 64, 5, 5, 0});
  CHECK(power.slope == close(2.0));
  CHECK(power.points == 3);
}

TEST_CASE("two points determine a line, but not its standard error") {
  const LineFit fit = fit_line(Values{1, 3}, Values{5, 1});
  CHECK(fit.slope == close(-2.0));
  CHECK(fit.intercept == close(7.0));
  CHECK(fit.slope_error == infinity);
  CHECK(fit.intercept_error == infinity);
}

TEST_CASE("a constant y has no r_squared") {
  const LineFit fit = fit_line(Values{1, 2, 3}, Values{5, 5, 5});
  CHECK(fit.slope == 0.0);
  CHECK(fit.slope_error == 0.0);
  CHECK(std::isnan(fit.r_squared));
}

TEST_CASE("if no line is determined, misuse throws and degenerate data give NaN") {
  CHECK_THROWS_AS(fit_line(Values{1, 2}, Values{1}), std::logic_error);
  CHECK_THROWS_AS(fit_line(Values{}, Values{}), std::logic_error);
  CHECK_THROWS_AS(fit_line(Values{1}, Values{1}), std::logic_error);
  CHECK_THROWS_AS(fit_power(Values{2, 2, 2}, Values{1, 2, 3}), std::logic_error);
  for (const LineFit& fit : {fit_line(Values{1, 2}, Values{1, undefined}),
                             fit_line(Values{1, 1, 2}, Values{1, 2, infinity}),
                             fit_power(Values{1, 2}, Values{-1, 0})}) {
    CHECK(std::isnan(fit.slope));
    CHECK(std::isnan(fit.intercept));
    CHECK(std::isnan(fit.slope_error));
  }
}

}  // namespace fits_test
