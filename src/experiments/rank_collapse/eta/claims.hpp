// Claims of the study eta: the three observations on [Shallow] Figure 8, in both readings, and the lemmas behind them.
#pragma once

#include <vector>

#include "experiments/rank_collapse/eta/readings.hpp"
#include "report/result.hpp"

namespace ranklab {

inline constexpr double small_t = 0.25;  // at most: X is close to rank one
inline constexpr double large_t = 0.75;  // at least: t is close to 1

std::vector<Claim> eta_claims(const EtaRun& run, bool single_precision);

}  // namespace ranklab
