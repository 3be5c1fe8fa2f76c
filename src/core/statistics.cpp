#include "core/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace ranklab {
namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

std::vector<double> finite_values(std::span<const double> values) {
  std::vector<double> finite;
  finite.reserve(values.size());
  std::copy_if(values.begin(), values.end(), std::back_inserter(finite), [](double x) { return std::isfinite(x); });
  return finite;
}

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

}  // namespace

Summary summarise(std::span<const double> values) {
  std::vector<double> x = finite_values(values);
  if (x.empty()) return {undefined, undefined, 0};
  const double n = static_cast<double>(x.size());

  // Scaled by a power of two, which is exact, so that neither sums nor squares overflow or vanish.
  double largest = 0.0;
  for (const double value : x) largest = std::max(largest, std::abs(value));
  if (largest == 0.0) return {0.0, 0.0, x.size()};
  const int exponent = std::ilogb(largest);
  for (double& value : x) value = std::scalbn(value, -exponent);

  const double first_pass = sum(x) / n;
  for (double& value : x) value -= first_pass;
  // The second pass also removes the rounding error of the first mean.
  const double correction = sum(x) / n;
  double squares = 0.0;
  for (const double value : x) squares += (value - correction) * (value - correction);
  const double variance = x.size() > 1 ? squares / (n - 1) : 0.0;
  return {std::scalbn(first_pass + correction, exponent), std::scalbn(std::sqrt(variance), exponent), x.size()};
}

double confidence_half_width(const Summary& summary, double z) {
  if (summary.n < 2) return std::numeric_limits<double>::infinity();
  return z * summary.std / std::sqrt(static_cast<double>(summary.n));
}

Spread spread_of(std::span<const double> values) {
  std::vector<double> x = finite_values(values);
  if (x.empty()) return {0, undefined, undefined, undefined, undefined};
  std::sort(x.begin(), x.end());
  return {x.size(), x.front(), median(x), x[std::min(x.size() * 9 / 10, x.size() - 1)], x.back()};
}

double median(std::span<const double> values) {
  std::vector<double> x = finite_values(values);
  if (x.empty()) return undefined;
  const auto middle = x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2);
  std::nth_element(x.begin(), middle, x.end());
  if (x.size() % 2 == 1) return *middle;
  return std::midpoint(*std::max_element(x.begin(), middle), *middle);  // does not overflow
}

}  // namespace ranklab
