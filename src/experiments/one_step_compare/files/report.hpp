// The result of --study files: scalars, series, claims, the table and the bar chart.
#pragma once

#include <vector>

#include "experiments/one_step_compare/files/measure.hpp"
#include "experiments/one_step_compare/files/plan.hpp"
#include "report/result.hpp"
#include "run/trials.hpp"

namespace ranklab {

/// Puts the ranks of the pair's activation, or of a layer's gradient, into a trial's record; `pair` and `layer` are indices.
void record_activation(TrialRecord& record, std::size_t pair, const ActivationRank& rank);
void record_gradient(TrialRecord& record, std::size_t pair, std::size_t layer, const GradientRank& rank);

/// Every layer that has all its ranks is reported, the others are listed with the reason. Throws Failure where none is left, or
/// where the record is of other files than the plan.
Result files_result(const FilesPlan& plan, const std::vector<TrialRecord>& records);

}  // namespace ranklab
