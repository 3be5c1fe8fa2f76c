// Scalars, series, claims and figure of a multi-spike study, from the records of its trials.
#pragma once

#include <vector>

#include "experiments/spike_plus_bulk/multi_spike/config.hpp"
#include "report/result.hpp"
#include "run/trials.hpp"

namespace ranklab {

Result multi_spike_result(const MultiSpikeConfig& config, LabelModel model, const std::vector<TrialRecord>& records);

}  // namespace ranklab
