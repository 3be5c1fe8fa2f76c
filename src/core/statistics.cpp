#include "core/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "core/undefined.hpp"

namespace ranklab {
namespace {

std::vector<double> finite_values(std::span<const double> values) {
  std::vector<double> finite;
  finite.reserve(values.size());
  std::copy_if(values.begin(), values.end(), std::back_inserter(finite),
               [](double x) { return std::isfinite(x); });
  return finite;
}

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// The continued fraction of the regularized incomplete beta function I_x(a, b), without its factor,
// by Lentz's method. [Abramowitz and Stegun] 26.5.8; converges within about sqrt(max(a, b)) terms
// if x < (a + 1) / (a + b + 2).
double beta_fraction(double x, double a, double b) {
  constexpr int most_terms = 100'000;
  constexpr double smallest = 1e-300, precision = std::numeric_limits<double>::epsilon();
  const auto away_from_zero = [](double value) {
    return std::abs(value) < smallest ? smallest : value;
  };
  double numerator = 1.0, denominator = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1)),
         value = denominator;
  for (int m = 1; m < most_terms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    double change = 1.0;
    for (const double term : {even, odd}) {
      denominator = 1.0 / away_from_zero(1.0 + term * denominator);
      numerator = away_from_zero(1.0 + term / numerator);
      change = numerator * denominator;
      value *= change;
    }
    if (std::abs(change - 1.0) < precision) break;
  }
  return value;
}

}  // namespace

std::size_t whole_count(double number) {
  constexpr double largest = 9007199254740992.0;  // 2^53
  return number > 0 ? static_cast<std::size_t>(std::min(number, largest)) : 0;
}

Summary summarize(std::span<const double> values) {
  std::vector<double> x = finite_values(values);
  if (x.empty()) return {undefined, undefined, 0};
  const double n = static_cast<double>(x.size());

  // Scaling by a power of two is exact, and keeps sums and squares from overflow and underflow.
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
  return {std::scalbn(first_pass + correction, exponent),
          std::scalbn(std::sqrt(variance), exponent), x.size()};
}

double standard_error(const Summary& summary) {
  if (summary.n < 2) return std::numeric_limits<double>::infinity();
  return summary.std / std::sqrt(static_cast<double>(summary.n));
}

double confidence_half_width(const Summary& summary, double level) {
  if (summary.n < 2) return std::numeric_limits<double>::infinity();
  return student_quantile((1 - level) / 2, static_cast<double>(summary.n - 1)) *
         standard_error(summary);
}

// I_x(n/2, 1/2) / 2 with x = n / (n + t^2). [Abramowitz and Stegun] 26.7.1, 26.5.27
double student_tail(double t, double degrees) {
  if (t <= 0) return 0.5;
  if (std::isinf(t)) return 0;
  const double n = degrees;
  const double a = n / 2, b = 0.5, y = t * t / (n + t * t), x = n / (n + t * t);
  const double log_x = y < x ? std::log1p(-y) : std::log(x);
  const double log_factor =
      std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * log_x + b * std::log(y);
  if (x < (a + 1) / (a + b + 2)) return std::exp(log_factor) * beta_fraction(x, a, b) / a / 2;
  return (1.0 - std::exp(log_factor) * beta_fraction(y, b, a) / b) / 2;
}

double student_quantile(double tail, double degrees) {
  if (tail >= 0.5) return 0.0;
  double low = 0.0, high = 1.0;
  while (student_tail(high, degrees) > tail) {
    low = high;
    high *= 2;
  }
  for (double middle = std::midpoint(low, high); low < middle && middle < high;
       middle = std::midpoint(low, high)) {
    (student_tail(middle, degrees) > tail ? low : high) = middle;
  }
  return high;
}

double log_of_sum(double log_a, double log_b) {
  const double larger = std::max(log_a, log_b);
  if (larger == -std::numeric_limits<double>::infinity()) return larger;
  return larger + std::log1p(std::exp(std::min(log_a, log_b) - larger));
}

double log_binomial_lower_tail(std::uint64_t n, double p, double at_most) {
  const double count = static_cast<double>(n);
  double sum = -std::numeric_limits<double>::infinity();
  for (double j = 0.0; j <= std::min(count, at_most); ++j) {
    sum = log_of_sum(sum, std::lgamma(count + 1.0) - std::lgamma(j + 1.0) -
                              std::lgamma(count - j + 1.0) + j * std::log(p) +
                              (count - j) * std::log1p(-p));
  }
  return sum;
}

BinomialInterval binomial_interval(double hits, double draws, double level) {
  // The largest p with P(X <= hits) >= (1 - level)/2; the lower end by exchanging hits and misses.
  const auto upper_end = [&](double count) {
    if (count >= draws) return 1.0;
    double low = 0.0, high = 1.0;
    while (high - low > 1e-12 * high) {
      const double middle = 0.5 * (low + high);
      const double tail = log_binomial_lower_tail(static_cast<std::uint64_t>(draws), middle, count);
      (tail >= std::log((1.0 - level) / 2.0) ? low : high) = middle;
    }
    return high;
  };
  return {1.0 - upper_end(draws - hits), upper_end(hits)};
}

double binomial_p_value(double hits, double draws, double p) {
  const auto n = static_cast<std::uint64_t>(draws);
  if (p <= 0.0) return hits > 0.0 ? 0.0 : 1.0;
  if (p >= 1.0) return hits < draws ? 0.0 : 1.0;
  const double lower = log_binomial_lower_tail(n, p, hits),
               upper = log_binomial_lower_tail(n, 1.0 - p, draws - hits);
  return std::min(1.0, 2.0 * std::exp(std::min(lower, upper)));
}

double log_chi_squared_tail(double degrees, double excess) {
  // Q(a, x) Gamma(a) = exp(-x) x^a / (x + 1 - a - 1(1 - a)/(x + 3 - a - 2(2 - a)/(x + 5 - a -
  // ...))), from the far end.
  const double a = degrees / 2.0, x = a * (1.0 + excess);
  constexpr int terms = 20000;
  double fraction = x + 2.0 * terms + 1.0 - a;
  for (int i = terms; i >= 1; --i) fraction = x + 2.0 * i - 1.0 - a - i * (i - a) / fraction;
  return -x + a * std::log(x) - std::lgamma(a) - std::log(fraction);
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

std::vector<double> differences(std::span<const double> a, std::span<const double> b) {
  std::vector<double> out;
  for (std::size_t i = 0; i < a.size(); ++i) out.push_back(a[i] - b[i]);
  return out;
}

double rank_correlation(std::span<const double> x, std::span<const double> y) {
  if (x.size() < 3) return undefined;
  const auto ranks_of = [](std::span<const double> values) {
    std::vector<double> out;
    for (const double value : values) {
      const auto below = std::count_if(values.begin(), values.end(),
                                       [&](double other) { return other < value; }),
                 equal = std::count(values.begin(), values.end(), value);
      out.push_back(static_cast<double>(below) + 0.5 * static_cast<double>(equal - 1));
    }
    return out;
  };
  const std::vector<double> a = ranks_of(x), b = ranks_of(y);
  const Summary of_a = summarize(a), of_b = summarize(b);
  if (of_a.std == 0 || of_b.std == 0) return undefined;
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - of_a.mean) * (b[i] - of_b.mean);
  return sum / static_cast<double>(a.size() - 1) / of_a.std / of_b.std;
}

}  // namespace ranklab
