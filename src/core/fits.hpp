// Straight-line fits with standard errors.
#pragma once

#include <cstddef>
#include <span>

namespace ranklab {

/// y = intercept + slope x by least squares.
struct LineFit {
  double slope = 0, intercept = 0;
  double slope_error = 0;      // standard error of the slope, from the residuals (n - 2 degrees of
                               // freedom); infinite for n < 3
  double intercept_error = 0;  // standard error of the intercept, likewise
  double r_squared = 0;        // 1 - residual / total sum of squares; NaN if y does not vary
  std::size_t points = 0;      // n, the points that were used
};

/// Throws std::logic_error unless x and y have equal length of at least 2 and x varies. Points that
/// are not finite are left out; if the remaining points do not determine a line, every member but
/// `points` is NaN.
LineFit fit_line(std::span<const double> x, std::span<const double> y);

/// As fit_line for log y against log x: the slope is the exponent of a power law. Points that are
/// not positive are left out.
LineFit fit_power(std::span<const double> x, std::span<const double> y);

}  // namespace ranklab
