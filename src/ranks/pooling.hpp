// One ratio nr/st and its interval for each layer at one step, from its batches.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/undefined.hpp"

namespace ranklab::ranks {

/// log nr/st of a layer at one step.
struct LogRatios {
  double center = undefined;  // of the joined batches, or the mean over the batches
  std::vector<double> batches;
};

/// nr/st at a step, and its interval at `confidence_level`.
struct PooledRatio {
  double ratio = undefined;
  double low = undefined, high = undefined;  // NaN: one batch has no spread
  std::size_t values = 1;                    // the number of batches
  double degrees = 0;                        // of freedom of Student's quantile

  bool has_interval() const { return low <= high; }
};

/// Both ranks have a relative error of about 1e-12; a ratio within this of 1 counts as equal to it.
inline constexpr double ratio_rounding = 1e-10;

/// Whether the printed inequality (1.8), nr(G) >= st(A), holds. Undecided if the interval contains
/// 1, and with two values, as every claim with fewer than three.
enum class Holds { yes, no, undecided };
Holds inequality_holds(const PooledRatio& ratio);
/// Whether the interval rests on two values.
bool has_too_few_values(const PooledRatio& ratio);

/// "pooled over 5 batches"
std::string pooled_over(const PooledRatio& ratio);

/// Pools each layer of one step. The spread of a layer is that of its batches. Two or three values
/// tell little about it, so the mean variance of the other layers is added with the weight of three
/// degrees of freedom (fewer if there are fewer other layers): in a Transformer on text the
/// interval over two batches then contains the true mean in at least 99 of 100 cases, and is 80
/// times as short as Student's without the other layers.
std::vector<PooledRatio> pooled(const std::vector<LogRatios>& layers);

}  // namespace ranklab::ranks
