// Means, sample standard deviations and confidence intervals over trials.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ranklab {

/// A count that was computed or read from a file as a floating-point number: its whole part, at
/// least 0 (also for NaN) and at most 2^53.
std::size_t whole_count(double number);

/// Statistics of the finite values; other values count as undefined and are left out.
struct Summary {
  double mean = 0.0;  // NaN if no value is finite
  double std = 0.0;   // sample standard deviation (n - 1), 0 for n = 1, NaN for n = 0
  std::size_t n = 0;  // number of finite values
};

Summary summarize(std::span<const double> values);

/// Standard error of the mean; infinite for n < 2, since the spread is unknown.
double standard_error(const Summary& summary);

/// The level of all confidence intervals of means.
inline constexpr double confidence_level = 0.99;
/// Half width of the confidence interval of the mean, by Student's quantile with n - 1 degrees of
/// freedom; infinite for n < 2.
double confidence_half_width(const Summary& summary, double level = confidence_level);

/// The probability that a Student variable with this many degrees of freedom (above 0) exceeds t >=
/// 0.
double student_tail(double t, double degrees);

/// The t that a Student variable with this many degrees of freedom (above 0) exceeds with
/// probability `tail`, 0 < tail <= 1/2. Relative error below 1e-8, even for the small tails of
/// corrections for multiple comparisons.
double student_quantile(double tail, double degrees);

/// log(exp(a) + exp(b)).
double log_of_sum(double log_a, double log_b);

/// log P(X <= at_most) for a binomial X with n trials of probability p, 0 < p < 1, by summation;
/// -infinity if at_most < 0.
double log_binomial_lower_tail(std::uint64_t n, double p, double at_most);

/// The Clopper-Pearson interval of a probability, exact from `hits` in `draws` independent draws.
struct BinomialInterval {
  double low = 0.0, high = 1.0;
};
BinomialInterval binomial_interval(double hits, double draws, double level = confidence_level);

/// The two-sided p-value of `hits` in `draws` if the probability is p: twice the smaller tail, at
/// most 1. Below 1 - level if and only if p is outside the interval of this level.
double binomial_p_value(double hits, double draws, double p);

/// log P(chi^2 > degrees (1 + excess)) for the chi-squared distribution, excess > 0, by the
/// continued fraction of the incomplete gamma function.
double log_chi_squared_tail(double degrees, double excess);

/// Order statistics of some values; NaN for an empty list.
struct Spread {
  std::size_t count = 0;
  // upper_tenth: a tenth of the values are above it
  double smallest = 0.0, median = 0.0, upper_tenth = 0.0, largest = 0.0;
};
/// Spread of the finite values.
Spread spread_of(std::span<const double> values);

/// Spearman's rank correlation of pairs without NaN, equal values sharing the mean of their ranks;
/// NaN for fewer than three pairs, and if all values of one list are equal.
double rank_correlation(std::span<const double> x, std::span<const double> y);

/// a_i - b_i, as of the losses of two methods in each trial. Both lists have the same length.
std::vector<double> differences(std::span<const double> a, std::span<const double> b);

/// Median of the finite values (mean of the middle two); NaN without a finite value.
double median(std::span<const double> values);

}  // namespace ranklab
