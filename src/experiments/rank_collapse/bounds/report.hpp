// The result of the study bounds from the records of its trials.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "experiments/rank_collapse/bounds/config.hpp"
#include "report/result.hpp"
#include "run/trials.hpp"

namespace ranklab::bounds {

Result bounds_result(const BoundsConfig& config, const std::vector<TrialRecord>& records);

/// How bad a number is; of several the worst is reported.
using Badness = double (*)(double);
inline double as_large(double x) {
  return x;
}
inline double as_small(double x) {
  return -x;
}
inline double away_from_three(double x) {
  return std::abs(x - 3);
}

/// Of a number that every trial has for each size, `<theorem>.N=<N>,d=<d>.<quantity>`: per trial the worst of the finite ones, NaN
/// where there is none.
std::vector<double> worst_size(const BoundsConfig& config, const std::vector<TrialRecord>& records, const std::string& theorem,
                               const std::string& quantity, Badness badness);

}  // namespace ranklab::bounds
