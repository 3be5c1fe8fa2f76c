#include "experiments/ranks/pooling.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/statistics.hpp"
#include "judge/claims.hpp"

namespace ranklab::ranks {
namespace {

const std::vector<double>& varying(const LogRatios& layer) {
  return layer.steps.size() > 1 ? layer.steps : layer.batches;
}

// Sums of the variances of layers with several steps, and of those with several batches.
struct Variances {
  double sum = 0;
  std::size_t layers = 0;
};

}  // namespace

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
  return "pooled over " + std::to_string(ratio.values) + (ratio.over_steps ? " steps" : " batches");
}

std::vector<PooledRatio> pooled(const std::vector<LogRatios>& layers) {
  constexpr std::size_t most_borrowed = 3;  // degrees of freedom
  std::array<Variances, 2> all;             // over batches, over steps
  for (const LogRatios& layer : layers) {
    const Summary summary = summarize(varying(layer));
    if (summary.n < 2) continue;
    Variances& same_kind = all[layer.steps.size() > 1 ? 1 : 0];
    same_kind.sum += summary.std * summary.std;
    same_kind.layers += 1;
  }
  std::vector<PooledRatio> out;
  for (const LogRatios& layer : layers) {
    PooledRatio pooled;
    const double center = summarize(layer.steps).mean;
    const Summary summary = summarize(varying(layer));
    pooled.ratio = std::exp(center);
    pooled.over_steps = layer.steps.size() > 1;
    pooled.values = std::max<std::size_t>(summary.n, 1);
    if (summary.n >= 2) {
      const Variances& same_kind = all[pooled.over_steps ? 1 : 0];
      const double of_layer = summary.std * summary.std,
                   degrees = static_cast<double>(summary.n - 1);
      const std::size_t others = same_kind.layers - 1;
      const auto borrowed = static_cast<double>(std::min(others, most_borrowed));
      const double of_others =
          others > 0 ? std::max(0.0, same_kind.sum - of_layer) / static_cast<double>(others) : 0;
      pooled.degrees = degrees + borrowed;
      const double variance = (degrees * of_layer + borrowed * of_others) / pooled.degrees,
                   half = student_quantile((1 - confidence_level) / 2, pooled.degrees) *
                          std::sqrt(variance / static_cast<double>(summary.n));
      pooled.low = std::exp(center - half);
      pooled.high = std::exp(center + half);
    }
    out.push_back(pooled);
  }
  return out;
}

}  // namespace ranklab::ranks
