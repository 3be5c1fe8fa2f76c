#include "ranks/pooling.hpp"

#include <algorithm>
#include <cmath>

#include "core/statistics.hpp"
#include "judge/claims.hpp"

namespace ranklab::ranks {
bool has_too_few_values(const PooledRatio& ratio) {
  return ratio.has_interval() && ratio.values < fewest_values;
}

Holds inequality_holds(const PooledRatio& ratio) {
  constexpr double least = 1 - ratio_rounding;
  const bool contains_one = ratio.has_interval() && ratio.low < least && ratio.high >= least;
  if (contains_one || has_too_few_values(ratio)) return Holds::undecided;
  return ratio.ratio >= least ? Holds::yes : Holds::no;
}

std::string pooled_over(const PooledRatio& ratio) {
  return "pooled over " + std::to_string(ratio.values) + " batches";
}

std::vector<PooledRatio> pooled(const std::vector<LogRatios>& layers) {
  constexpr std::size_t most_borrowed = 3;  // degrees of freedom
  double all = 0;                           // sum of the variances of layers with several batches
  std::size_t varying = 0;                  // their number
  for (const LogRatios& layer : layers) {
    const Summary summary = summarize(layer.batches);
    if (summary.n < 2) continue;
    all += summary.std * summary.std;
    varying += 1;
  }
  std::vector<PooledRatio> out;
  for (const LogRatios& layer : layers) {
    PooledRatio pooled;
    const Summary summary = summarize(layer.batches);
    pooled.ratio = std::exp(layer.center);
    pooled.values = std::max<std::size_t>(summary.n, 1);
    if (summary.n >= 2) {
      const double of_layer = summary.std * summary.std,
                   degrees = static_cast<double>(summary.n - 1);
      const std::size_t others = varying - 1;
      const auto borrowed = static_cast<double>(std::min(others, most_borrowed));
      const double of_others =
          others > 0 ? std::max(0.0, all - of_layer) / static_cast<double>(others) : 0;
      pooled.degrees = degrees + borrowed;
      const double variance = (degrees * of_layer + borrowed * of_others) / pooled.degrees,
                   half = student_quantile((1 - confidence_level) / 2, pooled.degrees) *
                          std::sqrt(variance / static_cast<double>(summary.n));
      pooled.low = std::exp(layer.center - half);
      pooled.high = std::exp(layer.center + half);
    }
    out.push_back(pooled);
  }
  return out;
}

}  // namespace ranklab::ranks
