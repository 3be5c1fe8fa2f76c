// Tails and moments by summation or series.
#include <algorithm>
#include <limits>
#include <numbers>

#include "experiments/random_features/concentration/concentration.hpp"

namespace ranklab::concentration {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// P(g > t) for a standard Gaussian g.
double normal_tail(double t) {
  return 0.5 * std::erfc(t / std::numbers::sqrt2);
}

}  // namespace

double log_chi_squared_lower_tail(double degrees, double shortfall) {
  // P(a, x) = x^a e^(-x) / Gamma(a + 1) (1 + x/(a + 1) + x^2/((a + 1)(a + 2)) + ...), and x < a.
  const double a = degrees / 2.0, x = a * (1.0 - shortfall);
  double term = 1.0, sum = 1.0;
  for (double j = 1.0; term > 1e-17 * sum; ++j) {
    term *= x / (a + j);
    sum += term;
  }
  return -x + a * std::log(x) - std::lgamma(a + 1.0) + std::log(sum);
}

double log_chi_squared_deviation(double degrees, double excess) {
  return log_of_sum(log_chi_squared_tail(degrees, excess),
                    log_chi_squared_lower_tail(degrees, excess));
}

double cap_probability(double d, double epsilon) {
  // u_1 = g_1 / ||g||, so sqrt(d - 1) u_1 / sqrt(1 - u_1^2) has Student's law with d - 1 degrees of
  // freedom.
  return 2.0 * student_tail(epsilon * std::sqrt((d - 1.0) / (1.0 - epsilon * epsilon)), d - 1.0);
}

double small_ball_probability(const Activation& activation, double tau) {
  constexpr double far = 40.0;  // P(|g| > 40) is below 1e-300
  double probability = 0.0;
  for (const double side : {-1.0, 1.0}) {
    const auto reaches = [&](double t) { return std::fabs(activation.value(side * t)) >= tau; };
    if (!reaches(far)) continue;
    double low = 0.0, high = far;
    while (high - low > 1e-15 * high) {
      const double middle = 0.5 * (low + high);
      if (middle <= low || middle >= high) break;
      (reaches(middle) ? high : low) = middle;
    }
    probability += normal_tail(high);
  }
  return probability;
}

double log_even_moment(std::uint64_t p, double mean) {
  // E (g + mean)^p = sum over even j of C(p, j) mean^(p-j) (j - 1)!!, (j - 1)!! = j! / (2^(j/2)
  // (j/2)!).
  const double power = static_cast<double>(p);
  double sum = -infinity;
  for (double j = 0.0; j <= power; j += 2.0) {
    if (mean == 0.0 && j < power) continue;
    const double log_binomial =
        std::lgamma(power + 1.0) - std::lgamma(j + 1.0) - std::lgamma(power - j + 1.0);
    const double log_factorials =
        std::lgamma(j + 1.0) - 0.5 * j * std::numbers::ln2 - std::lgamma(0.5 * j + 1.0);
    const double log_mean = j < power ? (power - j) * std::log(std::fabs(mean)) : 0.0;
    sum = log_of_sum(sum, log_binomial + log_factorials + log_mean);
  }
  return sum;
}

double sub_exponential_parameter(const std::function<double(double)>& log_mgf, double deviation) {
  // exp|y| = exp(y) + exp(-y) - exp(-|y|), and E exp(-|Y|/L) >= exp(-E|Y|/L) >= exp(-deviation/L)
  // by Jensen.
  const auto suffices = [&](double L) {
    const double bound =
        std::exp(log_mgf(1.0 / L)) + std::exp(log_mgf(-1.0 / L)) - std::exp(-deviation / L);
    return bound <= 2.0;
  };
  double low = 1e-3 * deviation, high = 1e3 * deviation;
  while (high - low > 1e-10 * high)
    (suffices(0.5 * (low + high)) ? high : low) = 0.5 * (low + high);
  return high;
}

}  // namespace ranklab::concentration
