// What the studies over depth report alike: a series for each measure of each curve, and which curves collapsed.
#pragma once

#include <string>
#include <vector>

#include "experiments/rank_collapse/depth/run.hpp"
#include "report/result.hpp"

namespace ranklab {

/// The series `<curve>.<measure>` and `<curve>.before.<measure>` where the records hold them, x = layer from 0 (the input).
void add_depth_series(const std::string& curve, const std::vector<TrialRecord>& records, Result& result);

/// The scalars `degenerate_rows` and `diverged`, over all curves: tokens without a direction, curves that left the range of the
/// numbers. Where some did, the result has diverged, and a note names the curves and their layers.
void add_depth_scalars(const std::vector<std::string>& curves, const std::vector<TrialRecord>& records, Result& result);

/// `<curve>.<measure>` of each trial at the last layer.
std::vector<double> final_values(const std::string& curve, const std::string& measure, const std::vector<TrialRecord>& records);

/// One sentence: which curves end with mu_normalized under the threshold, and which with the root of
/// rank_one_residual alone under it, their tokens being anti-parallel. By means over the trials.
std::string collapse_note(const std::vector<std::string>& curves, double threshold, const std::vector<TrialRecord>& records);

}  // namespace ranklab
