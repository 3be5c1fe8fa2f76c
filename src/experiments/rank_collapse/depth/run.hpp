// A passage through the blocks of a model that is watched from inside.
#pragma once

#include <functional>

#include "experiments/rank_collapse/depth/depth.hpp"
#include "models/blocks/block.hpp"

namespace ranklab {

/// Sees each block with the state of each curve before it goes in, as long as that is finite. May be called for several curves at
/// once.
template <class T>
using DepthObserver = std::function<void(std::size_t curve, const Block<T>& block, const State<T>& state)>;

/// run_groups of one group in one trial.
template <class T>
TrialRecord run_observed(const DepthGroup& group, const Trial& trial, const DepthObserver<T>& observe);

}  // namespace ranklab
