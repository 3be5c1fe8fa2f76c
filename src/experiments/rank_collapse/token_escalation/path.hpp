// The path of a representation through blocks, with what happens inside each: steps 1 to 4 of [Shallow] Algorithm 1 are attention
// and skip, norm, feed-forward net and skip, norm.
#pragma once

#include <armadillo>
#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "experiments/rank_collapse/token_escalation/measures.hpp"
#include "experiments/rank_collapse/token_escalation/token_escalation.hpp"
#include "run/trials.hpp"

namespace ranklab::token_escalation {

/// One block: its input X (d, N), the heads' P' (N, N), and the outputs of steps 1 to 4; the last is the next block's X.
template <class T>
struct BlockPassage {
  arma::Mat<T> X;
  std::vector<arma::Mat<T>> P;
  std::array<arma::Mat<T>, 4> steps;
  std::array<TokenParts, 5> parts;  // of X, and after each step
  std::vector<HeadMeasures> heads;
};

/// Draws the trial's input, calls visit(k, passage) for blocks k = 0 ... K - 1 up to the one that diverges, and returns what
/// token_escalation.hpp names.
template <class T>
TrialRecord follow_path(const EscalationConfig& config, const Trial& trial,
                        const std::function<void(std::uint64_t k, const BlockPassage<T>& passage)>& visit);

/// A case of eq_6, where the step is defined. `similarity` is that of its X.
void count_identity(const Escalation& step, double similarity, Tally& tally);

}  // namespace ranklab::token_escalation
