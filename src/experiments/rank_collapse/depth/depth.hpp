// What the studies over depth share (layers, lambda-sweep, ablation): curves through the blocks of a model, whose token geometry is
// measured after each, the names under which a trial records them, and what results say of them alike.
#pragma once

#include <cstdint>
#include <functional>
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
  double dropout = 0;            // of encoders, as in training: a rate
};

/// Curves that share the input and the weights: each block is drawn or read once and meets all their states.
struct DepthGroup {
  ModelSpec spec;  // settled
  std::vector<DepthCurve> curves;
};

// What a trial records of a curve -------------------------------------------------------------------------------------------

/// By layer, 0 being the input: the measures of TokenGeometry, of the state with its scale, and log10 ||Y||_F, which is finite also
/// where the norm is beyond a double's range. Undefined (NaN) from the first state on that is not finite.
namespace measure {
inline constexpr char mu[] = "mu", mu_normalized[] = "mu_normalized", token_similarity[] = "token_similarity",
                      token_diversity[] = "token_diversity", cosine_similarity[] = "cosine_similarity",
                      rank_one_residual[] = "rank_one_residual", stable_rank[] = "stable_rank", effective_rank[] = "effective_rank",
                      norm[] = "norm", log10_norm[] = "log10_norm";
// By block, 1 being the first, where blocks say them: ||.||_F of what entered the mixing branch, and of what it gave.
inline constexpr char branch_input_norm[] = "branch_input_norm", branch_output_norm[] = "branch_output_norm";
}  // namespace measure

/// Those of TokenGeometry.
const std::vector<std::string>& token_measures();

/// "before.<measure>": of TokenGeometry, before de-escalation; of curves with a tau.
std::string before_de_escalation(const std::string& measure);

/// Scalars: the first layer whose output is not finite (0: none), and tokens without a direction, over all layers.
inline constexpr char overflow_layer[] = "overflow_layer", degenerate_rows[] = "degenerate_rows";

/// "<curve>.<what>", the name of each of these in the record.
std::string of_curve(const std::string& curve, const std::string& what);

/// What each trial has at the last layer.
std::vector<double> final_values(const std::string& curve, const std::string& what, const Records& records);

// Running (run.cpp) ---------------------------------------------------------------------------------------------------------

/// A record for each trial, with all curves of all groups. Where the weights are read from a file, a layer is read once for all
/// trials, while the one before it is still at work.
Records run_groups(const std::vector<DepthGroup>& groups, const std::vector<Trial>& trials, bool single_precision);

/// The same of one model whose curves in trial t are `curves[t]`, added to the trials' records.
void run_curves(const ModelSpec& spec, const std::vector<std::vector<DepthCurve>>& curves, const std::vector<Trial>& trials,
                bool single_precision, Records& records);

/// What run_groups gives, for variants of one model, of equal depth, that differ in their switches alone: a tensor that several
/// have is drawn or read once.
Records run_variants(const std::vector<DepthGroup>& groups, const std::vector<Trial>& trials, bool single_precision);

/// What a model of several trainings gives in one of them: the mean over the sequences of the token file, which go through its
/// weights in batches by `run`, and of overflow layers the earliest; without a token file the training has one drawn sequence.
TrialRecord run_training(const ModelSpec& spec, const Trial& training,
                         const std::function<Records(const std::vector<Trial>& sequences)>& run);

/// Trials to be run at once: several where they share weights that are read from a file.
std::uint64_t trials_per_batch(const ModelSpec& spec);

/// Memory and work of one trial of these groups.
Estimate depth_cost(const std::vector<DepthGroup>& groups);

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
