// Depth dynamics: a state goes through the blocks of a model, and its token geometry is measured after each.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "experiments/study.hpp"
#include "linalg/similarity.hpp"
#include "models/blocks/block.hpp"
#include "run/trials.hpp"

namespace ranklab {

/// One trajectory through the depth, and what its series are called.
struct DepthCurve {
  std::string name;            // "lambda=-1"
  std::vector<double> lambda;  // strength of the skip: one for each layer, or one for all
  std::vector<double> tau;     // de-escalation Y - tau 1 1'Y/N at the block's output ([Shallow] eq. (21)); likewise; empty: none
};

/// Curves that share the input and the weights: each block is drawn or read once and meets all their states.
struct DepthGroup {
  ModelSpec spec;  // settled
  std::vector<DepthCurve> curves;
};

/// What one curve went through. Index 0 is the input, k the output of block k; states that are not finite, and those after
/// them, are undefined.
struct DepthTrace {
  std::vector<TokenGeometry> after;   // K + 1; norm and mu of the state itself, its scale included
  std::vector<TokenGeometry> before;  // K + 1, before de-escalation; empty where it was not asked for
  std::vector<double> log10_norm;     // K + 1; finite also where the norm is beyond the range of a double
  std::vector<BranchNorms> branch;    // K, of each block
  std::uint64_t overflow_layer = 0;   // the first layer whose output is not finite; 0: none
  double degenerate_rows = 0.0;
};

/// Sees each block with the state of each curve before it goes in. May be called for several curves at once.
template <class T>
using DepthObserver = std::function<void(std::size_t curve, const Block<T>& block, const State<T>& state)>;

/// One trace for each curve of the group.
template <class T>
std::vector<DepthTrace> run_depth(const DepthGroup& group, const Trial& trial, bool measure_before = false,
                                  const DepthObserver<T>& observe = {});

/// Traces of each trial, whose curves are `curves[t]`. Where the weights are read from a file, a layer is read once for all of
/// them, while the one before it is still at work.
template <class T>
std::vector<std::vector<DepthTrace>> run_trials(const ModelSpec& spec, const std::vector<std::vector<DepthCurve>>& curves,
                                                const std::vector<Trial>& trials, bool measure_before = false);

/// Traces of each trial, of the curves of each group, for variants of one model, of equal depth, that differ in their switches
/// alone: a tensor that several have is drawn or read once. The same numbers as from each group by itself.
template <class T>
std::vector<std::vector<std::vector<DepthTrace>>> run_variants(const std::vector<DepthGroup>& groups,
                                                               const std::vector<Trial>& trials);

/// Trials to be run at once: several where they share weights that are read from a file.
std::uint64_t trials_per_batch(const ModelSpec& spec);

/// Names of the measures that record_trace stores: mu, mu_normalized, token_similarity, ...
const std::vector<std::string>& depth_measures();

/// Stores a trace under `name`: arrays `<name>.<measure>` and `<name>.before.<measure>`, `<name>.log10_norm`, where the blocks
/// say them `<name>.branch_input_norm` and `<name>.branch_output_norm`, the scalars `<name>.overflow_layer`
/// and `<name>.degenerate_rows`.
void record_trace(const std::string& name, const DepthTrace& trace, TrialRecord& record);

/// Memory and work of one trial of these groups.
Estimate depth_cost(const std::vector<DepthGroup>& groups);

}  // namespace ranklab
