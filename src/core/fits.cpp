#include "core/fits.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "core/undefined.hpp"

namespace ranklab {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

void require_a_line(std::span<const double> x, std::span<const double> y) {
  if (x.size() != y.size()) throw std::logic_error("fit: x and y differ in length");
  if (std::all_of(x.begin(), x.end(), [&](double value) { return value == x.front(); })) {
    throw std::logic_error("fit: fewer than two points, or x does not vary");
  }
}

struct Points {
  std::vector<double> x, y;
};

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

LineFit least_squares(const Points& points) {
  const std::size_t n = points.x.size();
  LineFit fit{undefined, undefined, undefined, undefined, undefined, n};
  if (n < 2) return fit;
  const double x_mean = mean_of(points.x), y_mean = mean_of(points.y);
  double xx = 0, xy = 0, yy = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double dx = points.x[i] - x_mean, dy = points.y[i] - y_mean;
    xx += dx * dx;
    xy += dx * dy;
    yy += dy * dy;
  }
  if (xx == 0) return fit;
  fit.slope = xy / xx;
  fit.intercept = y_mean - fit.slope * x_mean;
  double residual = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double e = (points.y[i] - y_mean) - fit.slope * (points.x[i] - x_mean);
    residual += e * e;
  }
  fit.r_squared = yy > 0 ? 1 - residual / yy : undefined;
  const double variance = n > 2 ? residual / static_cast<double>(n - 2) : infinity;
  fit.slope_error = std::sqrt(variance / xx);
  fit.intercept_error = std::sqrt(variance * (1 / static_cast<double>(n) + x_mean * x_mean / xx));
  return fit;
}

}  // namespace

LineFit fit_line(std::span<const double> x, std::span<const double> y) {
  require_a_line(x, y);
  Points points;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!std::isfinite(x[i]) || !std::isfinite(y[i])) continue;
    points.x.push_back(x[i]);
    points.y.push_back(y[i]);
  }
  return least_squares(points);
}

LineFit fit_power(std::span<const double> x, std::span<const double> y) {
  require_a_line(x, y);
  Points points;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!std::isfinite(x[i]) || !std::isfinite(y[i]) || x[i] <= 0 || y[i] <= 0) continue;
    points.x.push_back(std::log(x[i]));
    points.y.push_back(std::log(y[i]));
  }
  return least_squares(points);
}

}  // namespace ranklab
