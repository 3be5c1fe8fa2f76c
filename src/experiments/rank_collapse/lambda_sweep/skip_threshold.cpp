#include "experiments/rank_collapse/lambda_sweep/skip_threshold.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace ranklab::lambda_sweep {
namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

}  // namespace

SkipBracket skip_bracket(const std::vector<double>& lambda, const std::vector<bool>& kept, int sign) {
  std::vector<std::pair<double, bool>> strengths;
  for (std::size_t i = 0; i < lambda.size(); ++i) {
    if (sign * lambda[i] >= 0) strengths.emplace_back(std::abs(lambda[i]), kept[i]);
  }
  std::sort(strengths.begin(), strengths.end());
  SkipBracket bracket{undefined, undefined};
  // From the largest down, as long as the tokens are kept apart.
  for (std::size_t i = strengths.size(); i-- > 0;) {
    if (!strengths[i].second) {
      bracket.fails = strengths[i].first;
      break;
    }
    bracket.keeps = strengths[i].first;
  }
  return bracket;
}

std::vector<double> inside(const SkipBracket& bracket, std::size_t points) {
  std::vector<double> strengths;
  if (std::isnan(bracket.fails) || std::isnan(bracket.keeps)) return strengths;
  const double step = (bracket.keeps - bracket.fails) / static_cast<double>(points + 1);
  for (std::size_t i = 1; i <= points; ++i) strengths.push_back(bracket.fails + step * static_cast<double>(i));
  return strengths;
}

double SkipTheorem::collapse_rate(double least) const {
  const double a = std::pow(least / mu_squared, 1 / layers);
  return a > 0 && a < 1 ? a : undefined;
}

double SkipTheorem::condition_threshold(double a) const {
  return (a + std::sqrt(a)) * S * C_M / (1 - a);
}

double SkipTheorem::hypothesis_threshold(double a) const {
  // mu^2 >= b, multiplied out, is A lambda^2 - B lambda - C >= 0.
  const double mixing = S * C_M, wanted = mu_squared * std::pow(a, layers);
  const double A = wanted * (1 - a), B = 2 * wanted * a * mixing + 2 * tokens * dim * mixing, C = wanted * a * mixing * mixing;
  return (B + std::sqrt(B * B + 4 * A * C)) / (2 * A);
}

}  // namespace ranklab::lambda_sweep
