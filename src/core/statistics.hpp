// Means, sample standard deviations and confidence intervals over trials.
#pragma once

#include <cstddef>
#include <span>

namespace ranklab {

/// Of the finite values alone: a value that is not finite is undefined and leaves the statistic.
struct Summary {
  double mean = 0.0;  // NaN where no value is finite
  double std = 0.0;   // sample standard deviation (n - 1), 0 for n = 1, NaN for n = 0
  std::size_t n = 0;  // number of finite values
};

Summary summarise(std::span<const double> values);

/// Standard error of the mean; infinite for n < 2, where the spread is unknown.
double standard_error(const Summary& summary);

/// The level of every confidence interval about a mean.
inline constexpr double confidence_level = 0.99;
/// Half width of the confidence interval of the mean, by Student's quantile with n - 1 degrees of freedom; infinite for n < 2.
double confidence_half_width(const Summary& summary, double level = confidence_level);

/// The probability that a Student variable with this many degrees of freedom (above 0) exceeds t >= 0.
double student_tail(double t, double degrees);

/// The t that a Student variable with this many degrees of freedom (above 0) exceeds with probability `tail`, 0 < tail <= 1/2.
/// Relative error below 1e-8, also for tails as small as corrections for many comparisons make them.
double student_quantile(double tail, double degrees);

/// The smallest, middle and largest of some values; NaN where there is none.
struct Spread {
  std::size_t count = 0;
  double smallest = 0.0, median = 0.0, upper_tenth = 0.0, largest = 0.0;  // upper_tenth: a tenth of the values lie above
};
/// Of the finite values.
Spread spread_of(std::span<const double> values);

/// Median of the finite values (mean of the middle two); NaN where there is none.
double median(std::span<const double> values);

}  // namespace ranklab
