// What the studies over depth share (layers, lambda-sweep, ablation): the curves that go through a model, the names under which a
// trial records them, what they cost, and what results say of them alike. run.hpp takes the curves through the blocks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/record.hpp"
#include "experiments/study.hpp"
#include "models/blocks/model_spec.hpp"
#include "report/figure/builder.hpp"

namespace ranklab {

/// One trajectory through the depth, and what its series are called.
struct DepthCurve {
  std::string name;              // "lambda=-1"
  std::vector<double> lambda;    // strength of the skip: one for each layer, or one for all
  std::vector<double> tau = {};  // de-escalation Y - tau 1 1'Y/N at the block's output ([Shallow] eq. (21)); likewise; empty: none
};

/// Curves that share the input and the weights: each block is drawn or read once and meets all their states.
struct DepthGroup {
  ModelSpec spec;  // settled
  std::vector<DepthCurve> curves;
};

/// Trials to be run at once: several where they share weights that are read from a file.
std::uint64_t trials_per_batch(const ModelSpec& spec);

/// Memory and work of one trial of these groups.
Estimate depth_cost(const std::vector<DepthGroup>& groups);

// What a trial records of a curve -------------------------------------------------------------------------------------------

/// By layer, from 0 (the input): the measures of TokenGeometry, and what is finite also where the norm is beyond a double's range.
namespace measure {
inline constexpr char mu[] = "mu", mu_normalized[] = "mu_normalized", token_similarity[] = "token_similarity",
                      token_diversity[] = "token_diversity", cosine_similarity[] = "cosine_similarity",
                      rank_one_residual[] = "rank_one_residual", stable_rank[] = "stable_rank", effective_rank[] = "effective_rank",
                      norm[] = "norm", log10_norm[] = "log10_norm";
// By block, from 1, where the blocks say them: ||.||_F of what entered the mixing branch, and of what it gave.
inline constexpr char branch_input_norm[] = "branch_input_norm", branch_output_norm[] = "branch_output_norm";
}  // namespace measure

/// Those of TokenGeometry.
const std::vector<std::string>& token_measures();

/// Scalars: the first layer whose output is not finite (0: none), and tokens without a direction, over all layers.
inline constexpr char overflow_layer[] = "overflow_layer", degenerate_rows[] = "degenerate_rows";

/// "<curve>.<what>", the name of each of them.
std::string of_curve(const std::string& curve, const std::string& what);

/// "<curve>.before", in the place of the curve's name: token measures before de-escalation.
std::string before_de_escalation(const std::string& curve);

/// The measure of each trial at the last layer.
std::vector<double> final_values(const std::string& curve, const std::string& measure, const Records& records);

// What results say of curves ------------------------------------------------------------------------------------------------

/// A series for each measure that the records hold, x = layer.
void add_depth_series(const std::string& curve, ResultBuilder& out);

/// The scalars `degenerate_rows` and `diverged`, over all curves: tokens without a direction, curves that left the range of the
/// numbers. Where some did, the result has diverged, and a note names the curves and their layers.
void add_depth_scalars(const std::vector<std::string>& curves, ResultBuilder& out);

/// One sentence: which curves end with mu_normalized under the threshold, and which with the root of
/// rank_one_residual alone under it, their tokens being anti-parallel. By means over the trials.
std::string collapse_note(const std::vector<std::string>& curves, double threshold, const Records& records);

}  // namespace ranklab
