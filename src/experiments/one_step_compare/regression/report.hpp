// The result of the study regression: scalars, ratios binned over the predicted one, table, figure.
#pragma once

#include "experiments/one_step_compare/regression/config.hpp"
#include "report/result.hpp"
#include "run/trials.hpp"

namespace ranklab {

Result regression_result(const RegressionConfig& config, const std::vector<TrialRecord>& records, bool single_precision);

}  // namespace ranklab
