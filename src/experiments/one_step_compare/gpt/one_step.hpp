// One step along G and one along polar(G), block by block: the largest loss decrease that each
// achieves, compared with the prediction of eq. (1.1).
#pragma once

#include <vector>

#include "experiments/one_step_compare/gpt/measure.hpp"

namespace ranklab::gpt {

/// Ratios of the best loss decrease along polar(G) to the best along G. A ratio of one block is NaN
/// if one of its decreases is below 1e-4 of the loss, which happens on a batch that did not give G.
/// A joint ratio is NaN if one of the directions does not decrease the loss.
struct StepRatios {
  std::vector<double> predicted;                 // nr / st of each block
  std::vector<double> by_curvature;              // of the quadratic model; NaN for the embedding
  std::vector<double> on_batch, on_independent;  // of each block
  double joint_on_batch,
      joint_on_independent;  // all hidden blocks at once, with the steps of Section 1.2.1
};

/// `model` holds the gradients of `batch` in its parameters, and `moments` are those of the batch.
/// The weights are changed and restored. Blocks in order: those of each layer, then head and
/// embedding.
template <class T>
StepRatios step_ratios(SequenceModel<T>& model, const SequenceBatch<T>& batch,
                       const SequenceBatch<T>& independent, const Moments& moments,
                       const Trial& trial);

/// The largest decrease f(0) - f(step) over steps > 0 that a line search finds. It starts at
/// `first`, doubles the step until f rises (or halves it until f falls), and then refines it at
/// most twice by the vertex of the parabola through the best step and its neighbors. NaN if 40
/// halvings find no decrease.
double best_decrease(const std::function<double(double)>& f, double at_0, double first);

}  // namespace ranklab::gpt
