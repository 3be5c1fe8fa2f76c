// The path of a representation through the blocks of [Shallow] Algorithm 1, with what happens inside each block.
#pragma once

#include <armadillo>
#include <array>
#include <functional>
#include <vector>

#include "experiments/rank_collapse/escalation/config.hpp"
#include "run/trials.hpp"

namespace ranklab {

/// One block: its input X (d, N), the heads' P' (N, N), and the outputs of steps 1 to 4; the last is the next block's X.
template <class T>
struct BlockPassage {
  arma::Mat<T> X;
  std::vector<arma::Mat<T>> P;
  std::array<arma::Mat<T>, 4> steps;
};

struct PathEnd {
  bool diverged = false;       // an entry was not finite
  double degenerate_rows = 0;  // tokens that the norm `rows` set to zero
};

/// Draws the trial's input and calls visit(k, passage) for blocks k = 0 ... K - 1, up to the one that diverges.
template <class T>
PathEnd follow_path(const EscalationConfig& config, const Trial& trial,
                    const std::function<void(std::uint64_t, const BlockPassage<T>&)>& visit);

}  // namespace ranklab
