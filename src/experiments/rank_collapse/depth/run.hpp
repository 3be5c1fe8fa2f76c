// A run through the blocks of a model with an observer that is called at every block.
#pragma once

#include <functional>

#include "experiments/rank_collapse/depth/depth.hpp"
#include "nn/blocks/block.hpp"

namespace ranklab {

/// Called for each block and each curve with the state that enters the block, while that state is
/// finite. Calls for different curves may be concurrent.
template <class T>
using DepthObserver =
    std::function<void(std::size_t curve, const Block<T>& block, const State<T>& state)>;

/// run_groups for one group and one trial, with an observer.
template <class T>
TrialRecord run_observed(const DepthGroup& group, const Trial& trial,
                         const DepthObserver<T>& observe);

}  // namespace ranklab
