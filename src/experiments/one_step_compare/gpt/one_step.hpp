// One step along G and one along polar(G), block by block: how much of the loss each can take away, beside what eq. (1.1) predicts.
#pragma once

#include <vector>

#include "experiments/one_step_compare/gpt/measure.hpp"

namespace ranklab::gpt {

/// The best decrease along polar(G) over the best along G; NaN where one of them gives none, or less than 1e-4 of the loss, as
/// happens on a batch that did not give G.
struct StepRatios {
  std::vector<double> predicted;                 // nr / st of each block
  std::vector<double> on_batch, on_independent;  // of each block
  double joint_on_batch, joint_on_independent;   // of all hidden blocks at once, with the steps of Section 1.2.1
};

/// Of `model` with the gradients of `batch` in its parameters and the batch's moments; its weights are changed and put back.
/// The blocks are those of the layers from the first on, then head and embedding.
template <class T>
StepRatios step_ratios(Gpt<T>& model, const TokenBatch& batch, const TokenBatch& independent, const Moments& moments,
                       const Trial& trial);

/// The largest f(0) - f(step) along a line, for steps > 0: the step is doubled until f rises (or halved until it falls), then set
/// twice to the top of the parabola through the best step and its neighbours. `first` is where it begins. NaN where no step of 40
/// halvings lowers f.
double best_decrease(const std::function<double(double)>& f, double at_0, double first);

}  // namespace ranklab::gpt
