// The path of a representation through the blocks, with the steps inside each block. Steps 1 to 4
// of [Shallow] Algorithm 1 are attention and skip, norm, feed-forward net and skip, norm.
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

/// One block: its input X (d, N), P' (N, N) of each head, and the outputs of steps 1 to 4. The last
/// output is the X of the next block.
struct BlockPassage {
  arma::mat X;
  std::vector<arma::mat> P;
  std::array<arma::mat, 4> steps;
  std::array<TokenParts, 5> parts;  // of X, and after each step
  std::vector<HeadMeasures> heads;
};

/// Draws the input of the trial and calls visit(k, passage) for the blocks k = 0 to K - 1, or up to
/// the one that diverges. Returns the quantities that token_escalation.hpp names.
TrialRecord follow_path(
    const EscalationConfig& config, const Trial& trial,
    const std::function<void(std::uint64_t k, const BlockPassage& passage)>& visit);

/// Counts a case of eq_6 if the step is defined. `similarity` is that of its X.
void count_identity(const Escalation& step, double similarity, Tally& tally);

}  // namespace ranklab::token_escalation
