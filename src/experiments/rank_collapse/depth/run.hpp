// Depth dynamics: a state goes through the blocks of a model, and its token geometry is measured after each.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "experiments/rank_collapse/depth/depth.hpp"
#include "linalg/similarity.hpp"
#include "models/blocks/block.hpp"
#include "run/trials.hpp"

namespace ranklab {

/// What one curve went through. Index 0 is the input, k the output of block k; states that are not finite, and those after
/// them, are undefined.
struct DepthTrace {
  std::vector<TokenGeometry> after;   // K + 1; norm and mu of the state itself, its scale included
  std::vector<TokenGeometry> before;  // K + 1, before de-escalation; empty for a curve without tau
  std::vector<double> log10_norm;     // K + 1; finite also where the norm is beyond the range of a double
  std::vector<BranchNorms> branch;    // K, of each block
  std::uint64_t overflow_layer = 0;   // the first layer whose output is not finite; 0: none
  double degenerate_rows = 0.0;
};

/// One for each curve of a group.
using DepthTraces = std::vector<DepthTrace>;

/// Sees each block with the state of each curve before it goes in. May be called for several curves at once.
template <class T>
using DepthObserver = std::function<void(std::size_t curve, const Block<T>& block, const State<T>& state)>;

template <class T>
DepthTraces run_depth(const DepthGroup& group, const Trial& trial, const DepthObserver<T>& observe = {});

/// Traces of each trial, whose curves are `curves[t]`. Where the weights are read from a file, a layer is read once for all of
/// them, while the one before it is still at work.
std::vector<DepthTraces> run_trials(const ModelSpec& spec, const std::vector<std::vector<DepthCurve>>& curves,
                                    const std::vector<Trial>& trials, bool single_precision);

/// Traces of each trial, of the curves of each group, for variants of one model, of equal depth, that differ in their switches
/// alone: a tensor that several have is drawn or read once. The same numbers as from each group by itself.
std::vector<std::vector<DepthTraces>> run_variants(const std::vector<DepthGroup>& groups, const std::vector<Trial>& trials,
                                                   bool single_precision);

/// Stores a trace under the names of depth.hpp.
void record_trace(const std::string& curve, const DepthTrace& trace, TrialRecord& record);

}  // namespace ranklab
