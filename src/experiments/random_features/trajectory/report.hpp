// Scalars, series, claims and figure of the trajectory study, from the records of its trials.
#pragma once

#include <vector>

#include "experiments/random_features/trajectory/config.hpp"
#include "report/result.hpp"
#include "run/trials.hpp"

namespace ranklab {

Result trajectory_result(const TrajectoryConfig& config, const std::vector<TrialRecord>& records);

}  // namespace ranklab
