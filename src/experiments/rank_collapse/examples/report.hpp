// Series, notes and figure of the study examples.
#pragma once

#include <vector>

#include "experiments/rank_collapse/examples/config.hpp"
#include "report/result.hpp"
#include "run/trials.hpp"

namespace ranklab {

/// Every trial makes the same numbers, so that the claims are judged from the first.
Result examples_result(const ExamplesConfig& config, const std::vector<TrialRecord>& records, bool single_precision);

}  // namespace ranklab
