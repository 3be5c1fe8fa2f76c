// The result of the study features from its trials' records: scalars, series, claims, figure.
#pragma once

#include <vector>

#include "experiments/spike_plus_bulk/features/config.hpp"
#include "report/result.hpp"
#include "run/trials.hpp"

namespace ranklab {

Result features_result(const FeaturesConfig& config, const std::vector<TrialRecord>& records);

}  // namespace ranklab
